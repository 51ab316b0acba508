#!/bin/bash
# luacheck on every Lua file of recipes/, stdlib/, tests/ and tools/, except those that are wrong on purpose (in a
# folder named bad/).
cd "$SOURCE_DIR" || exit 1
mapfile -t files < <(find recipes stdlib tests tools -name '*.lua' -not -path '*/bad/*' 2> /dev/null | sort)
((${#files[@]})) || exit 0
exec luacheck --config .luacheckrc --no-color --quiet "${files[@]}"
