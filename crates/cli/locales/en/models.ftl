### `waterline models`, and model files in general.

encoder-invalid = { $path }: { $text }
encoder-failed = encoder { $name }: { $cause }
encoder-no-model = { $path } has no model; expected an .onnx, .npz or .safetensors file
encoder-no-tokenizer = { $path } has no tokenizer; expected tokenizer.json (or sp.model for an .npz file) next to the model
encoder-no-onnx = this program was built without support for ONNX models. Build it with `cargo build --release --features onnx`, or add an encoder that needs none: use-multilingual or wordllama (docs/recall.md)
encoder-unknown-file = { $path } is not one of the tested model files; if you trust it, add --sha256 { $hash }
encoder-name = "{ $name }" is not a name for an encoder; use letters, digits, "-", "_" and ".", and pass it with --name
models-kind-sentences = sentence encoder
models-kind-multilingual = multilingual sentence encoder
models-kind-words = word vectors
models-added = Added { $name } ({ $kind }, { $size }). Messages are encoded in the background while you chat.
models-incomplete = Added to { $name }, which cannot be used yet: { $why }
models-none = No encoder was added, so search uses keywords only. `waterline models add FILE|DIR` adds one; docs/recall.md says which were tested.
models-encoded = { $count ->
    [one] 1 message
   *[other] { $count } messages
} encoded
models-unknown = there is no encoder "{ $name }"; `waterline models list` shows them
models-removed =
    Removed { $name } and { $count ->
        [one] 1 vector
       *[other] { $count } vectors
    }.
