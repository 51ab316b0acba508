-- Recipes and the standard library: LuaJIT with one more global, `lab`.
std = "luajit"
read_globals = { "lab" }
max_line_length = 140
exclude_files = { "build", ".deps" }
