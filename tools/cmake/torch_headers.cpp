// Has nothing of its own: the target of this file owns the precompiled torch_headers.h.
