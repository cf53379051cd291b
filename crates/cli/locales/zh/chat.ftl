### `waterline chat` 的命令及其回答。

fork-done = 已进入副本 { $id }（第 { $position } 条消息）
