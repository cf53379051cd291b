### `waterline bench`。

bench-not-a-set = { $path } 第 { $line } 行不是带问题的对话：{ $cause }；格式见 `waterline bench recall --help`
bench-empty = { $path } 中没有对话
bench-column-set = 问题集
bench-column-questions = 问题数
bench-keyword = 关键词
bench-vector = 向量
bench-hybrid = 混合
bench-legend =
    百分比 · recall@N：回答问题的消息中排在前 N 位的比例
    hit@10：前 10 位中至少有一条的问题 · mrr：第一条所在位置的倒数的平均值
    in 2K：按顺序取完整消息、共 2,000 token 时其中的比例
