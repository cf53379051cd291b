### `waterline sessions`.
