// A shared library that is no plugin.
extern "C" void no_device_plugin();
void no_device_plugin() {}
