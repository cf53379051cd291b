### `waterline replay`.
