### `waterline replay` 及其 `train` 和 `usage`。

replay-facts = { $sessions } 个会话，{ $calls } 次模型调用，token { $method }计数，价格表：{ $prices }
replay-counted-by = 按 { $method }{ " " }
replay-counted-by-model = 按各模型的分词器
replay-values = { $calls } 次工具调用需要 { $values } 个此前出现过的值
replay-all-valid = 所有上下文均有效
replay-legend =
    保留：上下文中仍有的所需值的比例
    完整：所需值齐全的调用 · 原文：上下文中未改动的比例
    折后：折叠后窗口中未改动的比例
    成本：相对于从不折叠 · * 最佳
replay-column-retained = 保留
replay-column-intact = 完整
replay-column-tokens = token
replay-column-most = 最大
replay-column-verbatim = 原文
replay-column-kept = 折后
replay-column-folds = 折叠
replay-column-cached = 缓存
replay-column-cost = 成本
replay-column-invalid = 无效
replay-column-too-large = 过大
replay-column-surprise = 意外度
replay-legend-surprise =
    意外度：录制回答的每 token 负对数似然（nat），± 为跨会话的 95% 区间，越低越好
    由 { $model } 评判：每个策略和窗口最多 { $answers } 个回答
replay-judge-left-out = 有 { $answers } 个回答未计入：上下文超出评判模型的窗口
replay-judging = 个回答已由 { $model } 评判
replay-judge-no-model = { $url } 未列出模型；请检查服务器是否在运行，或用 --judge-model 指定
replay-judge-unaligned = { $url } 返回的 token 中找不到所发送的回答
replay-judge-failed = 无法用 { $model } 评判
replay-judge-too-long = 上下文超出评判模型的窗口；请使用更小的窗口（--window）或窗口更大的服务器
replay-lost = { $session } 中遗忘的值
replay-lost-of-several = { $session } 中遗忘的值，该会话调用最多（用 --session ID 选择其他会话）
replay-lost-count = { $values } 个值中的 { $lost } 个
replay-lost-more = … 还有 { $count } 个；--json 列出全部
replay-lost-others = 要查看其他策略，请用 --policy 指定；--json 列出所有策略的值
replay-lost-truncated = 首次发送前已被截断
replay-lost-folded = 在第 { $before } 条消息前的折叠 { $fold } 中丢失
replay-lost-value = { $value }  来自第 { $seen } 条消息（{ $by }），{ $cause }；{ $tool } 在第 { $needed } 条消息中需要它
replay-no-session = 没有包含模型调用的会话
replay-no-such-session = 没有 ID 为 { $id } 且包含模型调用的会话
replay-no-prices = 没有名为“{ $name }”的价格表；可选：{ $known }，或模型表中的模型
replay-page-failed = 无法写入页面
replay-dump-failed = 无法写入上下文
replay-dump-thread = 写入上下文时线程中止
replay-progress = 已回放 { $count } 个会话

train-start = 初始
train-held-out = 留出
train-shares = 保留 { $retained }  完整调用 { $intact }
train-done = { $path }：由 { $count } 次折叠学得

usage-none = 这些文件中没有会话报告其调用的用量
usage-model = 模型
usage-prompts = 提示词数
usage-ratio = 计数 / 实际
usage-off = 提示词偏差
usage-calibrated = 校准后
usage-from-last = 自上次调用
