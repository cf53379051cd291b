### `waterline replay`。
