### `waterline sessions`。
