### `waterline models` 及模型文件。

encoder-invalid = { $path }：模型文件无效（{ $text }）
encoder-failed = 编码器 { $name }：{ $cause }
encoder-no-model = { $path } 中没有模型；应有 .onnx、.npz 或 .safetensors 文件
encoder-no-tokenizer = { $path } 中没有分词器；模型旁应有 tokenizer.json（.npz 文件则为 sp.model）
encoder-no-onnx = 本程序构建时未包含对 ONNX 模型的支持。请用 `cargo build --release --features onnx` 构建，或添加不需要它的编码器：use-multilingual 或 wordllama（docs/recall.md）
encoder-unknown-file = { $path } 不是经过测试的模型文件；若信任它，请加上 --sha256 { $hash }
encoder-name = “{ $name }”不能作为编码器的名称；请使用字母、数字、“-”、“_”和“.”，并用 --name 指定
models-kind-sentences = 句子编码器
models-kind-multilingual = 多语言句子编码器
models-kind-words = 词向量
models-added = 已添加 { $name }（{ $kind }，{ $size }）。对话时会在后台为消息编码。
models-incomplete = 已添加到 { $name }，但它还不能使用：{ $why }
models-none = 没有添加编码器，搜索只使用关键词。`waterline models add FILE|DIR` 可添加；经过测试的模型见 docs/recall.md。
models-encoded = 已编码 { $count } 条消息
models-unknown = 没有编码器“{ $name }”；`waterline models list` 列出已有的编码器
models-removed = 已移除 { $name } 和 { $count } 个向量。
