### 各库的文本（`phrase!`）：警告、违反的规则、解析错误、允许的值。

## 关于不规则对话的警告。

warning-mid-system = 对话中间出现系统消息
warning-empty-message = 空消息不发送
warning-early-result = { $name } 的结果出现在其调用之前
warning-repeated-id = 调用 ID“{ $given }”重复使用；改以“{ $id }”发送
warning-missing-id = 有一个调用没有 ID；以“{ $id }”发送
warning-repeated-user = 连续两条用户消息；如果协议格式要求，会合并
warning-late-result = 迟到的结果；紧跟在其调用之后发送
warning-result-of-earlier-step = “{ $given }”的结果属于比此消息中其他结果更早的一步；不发送
warning-second-result = 调用“{ $given }”的第二个结果；不发送
warning-orphan-result = “{ $given }”的结果没有对应的调用；不发送
warning-unanswered-call = 对 { $name } 的调用没有结果；按“已中断”处理
warning-dangling-thought = 没有回答的思考不发送
warning-misplaced-part = 移除了{ $role ->
    [user] 用户
    [assistant] 助手
    [tool] 工具
    [system] 系统
    [model] 模型
   *[other] { " " }{ $role }{ " " }
}消息不能包含的部分
warning-blank-text = 移除了空白文本
warning-lone-surrogate = 替换了不完整的 UTF-16 代理对
warning-missing-tool-name = 有一个调用没有工具名；以“unknown”发送
warning-bad-arguments = { $name } 的参数不是 JSON 对象；以 {"{"}"input": …{"}"} 发送
warning-internal = 计划违反了一条规则：{ $violation }
warning-over-window = 上下文有 { $tokens } 个 token，超过提示词可用的 { $window } 个
warning-newest-truncated = 最新的消息放不进窗口；已在中间截断
warning-unknown-model = 未知的模型“{ $name }”：使用保守估计
warning-high-below-window = fold.high（{ $high }）低于 window.tokens（{ $keep }）：折叠可能不释放任何空间
warning-half-pair = 替换了不完整的 UTF-16 代理对
warning-not-a-string = { $name } 不是字符串
warning-missing-content = 缺少内容
warning-odd-content = 内容既不是字符串也不是列表；作为文本发送
warning-block-omitted = 省略了一个不是对象的内容块
warning-text-block-omitted = 省略了一个空文本块
warning-no-input = 有一个调用没有输入
warning-missing-role = 有一轮没有角色；假定为“{ $guess }”
warning-missing-parts = 缺少 parts
warning-null-text = 省略了一个为 null 的文本
warning-empty-text = 省略了一个空文本
warning-response-name = 有一个响应没有工具名
warning-text-part-omitted = 省略了一个空文本部分
warning-stored-elsewhere = 此请求接续服务商存储的对话；这里没有其较早的消息

## 消息列表违反的协议格式的规则。

violation-at = 第 { $number } 条消息：{ $text }（{ $rule }）
violation-empty-message = 空消息
violation-blank-text = 空白文本
violation-no-open-call = “{ $id }”的结果没有对应的未完成调用
violation-call-id = 调用 ID“{ $id }”为空或重复使用
violation-unanswered = 没有结果的调用：{ $ids }
violation-not-an-object = 不是消息对象
violation-no-call-id = 有一个调用没有 ID
violation-repeated-call-id = 调用 ID“{ $id }”重复使用
violation-result-without-call = “{ $id }”的结果之前没有紧邻的调用
violation-no-messages = 没有消息
violation-first-message = 第一条消息不是用户消息
violation-breakpoints = 有 { $breakpoints } 个缓存断点；上限为 { $limit }
violation-input = 调用的输入不是对象
violation-no-signature = 思考没有签名
violation-failed-result = 失败的结果没有内容
violation-role = 此处不允许角色“{ $role }”
violation-two-in-a-row = 连续两条{ $role ->
    [user] 用户
    [assistant] 助手
    [tool] 工具
    [system] 系统
    [model] 模型
   *[other] { " " }{ $role }{ " " }
}消息
violation-blank-text-block = 空白文本块
violation-result-order = tool_result 必须在其他内容块之前
violation-no-parts = 有一轮没有 parts
violation-first-turn = 第一轮不是用户的
violation-unknown-role = 未知的角色“{ $role }”
violation-two-turns = 连续两轮都来自{ $role ->
    [user] 用户
    [assistant] 助手
    [tool] 工具
    [system] 系统
    [model] 模型
   *[other] { " " }{ $role }{ " " }
}
violation-response = “{ $name }”的响应在上一轮没有对应的调用
violation-no-response = 没有响应的调用：{ $names }
violation-empty-role = 空的{ $role ->
    [user] 用户
    [assistant] 助手
    [tool] 工具
    [system] 系统
    [model] 模型
   *[other] { " " }{ $role }{ " " }
}消息
violation-reasoning = 推理之后没有它产生的内容

## 不是对话的输入。

parse-at = 第 { $line } 行第 { $column } 列：{ $text }
parse-not-json = 不是 JSON：{ $cause }
parse-no-object = 应为消息对象
parse-missing-role = 缺少角色
parse-unknown-role = 未知的角色“{ $role }”
parse-no-type = 既没有已知的类型，也没有角色
parse-no-list = 不是对话：应为消息列表
parse-no-conversation = 不是对话：应为消息列表或请求体
parse-no-field = 不是对话：没有“messages”、“input”或“contents”字段
parse-no-field-of-wire = 不是对话：没有“{ $name }”字段（{ $wire } 的消息在其中）
parse-field-no-list = 不是对话：“{ $name }”不是消息列表
parse-message = 不是对话：第 { $number } 条消息：{ $cause }

## 其他程序的会话文件。

transcript-line = 第 { $line } 行：{ $text }
transcript-not-atif = 不是 ATIF 轨迹
transcript-row = agent_messages 的第 { $id } 行：{ $cause }
transcript-database-stream = 无法从流中读取 SQLite 数据库；请传入其路径
transcript-empty = 文件为空
transcript-not-utf8 = 不是有效的 UTF-8
transcript-none = 未找到对话
transcript-none-because = 未找到对话（{ $cause }）
transcript-unknown-format = 未知的格式（查看了 { $count } 行）；支持的格式：{ $known }

## 设置：允许的值，以及项目的文件不能设置的内容。

allowed-whole-from = 不小于 { $least } 的整数
allowed-whole = { $least } 到 { $most } 的整数
allowed-size = token 数，或 "0%" 到 "100%" 的比例
allowed-threshold = token 数、"0%" 到 "100%" 的比例，或 "high"（高水位）
allowed-flag = true 或 false
allowed-one-of = { $names } 之一
allowed-text = 字符串
allowed-texts = 字符串列表
allowed-message-numbers = 消息编号列表，从 1 开始
allowed-stages = 阶段名称列表，每个最多一次
allowed-at-least = 至少 { $least }
allowed-hosts = 名称列表，如 crates.io、*.pypi.org 或 HOST:PORT
allowed-protected = 受保护路径的列表：{ $names }
allowed-absolute = 绝对路径，或以 ~/ 开头
policy-unused-section = 设置了 [{ $name }] 一节，但“{ $name }”不在阶段列表中
policy-is-section = { $key } 是一节；请设置其中的键：{ $key }.键
policy-low-not-below-high = fold.low（{ $low }）必须低于 fold.high（{ $high }）
project-names-key = 它指定 API 密钥
project-writes-files = 它决定文件写到哪里
project-sends-messages = 它决定消息发送到哪里
project-decides-permissions = 它决定智能体可以做什么
project-starts-server = 它启动或连接服务器
project-uses-resources = 决定使用多少内存
variable-share = 必须是 0.0 到 1.0 的数
variable-flag = 必须是 true 或 false
variable-whole = 应为整数
variable-lang = 不支持的语言“{ $name }”；应为 en 或 zh
variable-tokenizer = 未知的 token 计数方法“{ $name }”；已知的方法：{ $known }、tiktoken
unknown-token-method = 未知的 token 计数方法“{ $name }”；可选：{ $known }
unknown-output-format = 不支持的输出格式“{ $name }”；应为以下之一：{ $known }
unknown-approval-mode = 未知的批准方式“{ $name }”；应为 all、selective、custom 或 none
empty-workspace = 应为 here、private 或一个目录
answer-not-json = 不是有效的 JSON（{ $error }）

## 解析器和操作系统。

error-toml-at = TOML 解析错误：第 { $line } 行第 { $column } 列
error-toml-unknown-key = 未知的键 `{ $key }`；应为：{ $known }
error-toml-missing-key = 缺少键 `{ $key }`
error-toml-type = 类型错误：是{ $found }，应为：{ $expected }
error-toml-duplicate = 键重复
error-toml-other = 原因：{ $reason }
error-system = { $kind ->
    [not-found] 文件或目录不存在
    [permission-denied] 权限不足
    [already-exists] 文件已存在
    [is-a-directory] 是目录
    [not-a-directory] 不是目录
    [directory-not-empty] 目录不为空
    [storage-full] 磁盘空间不足
    [file-too-large] 文件过大
    [read-only] 文件系统只读
    [busy] 正被其他程序使用
    [invalid-name] 文件名无效
    [connection-refused] 连接被拒绝
    [connection-closed] 连接已关闭
    [timed-out] 操作超时
    [broken-pipe] 管道已关闭
    [end] 文件意外结束
    [memory] 内存不足
   *[other] 系统错误（{ $text }）
}
input-line-too-large = 有一行超过 { $megabytes } MB
input-too-large = 输入超过 { $megabytes } MB
error-config-json = 不是设置的 JSON 对象：{ $cause }

## 连接失败的原因。

connection-refused = 连接被拒绝
connection-closed = 服务器关闭了连接
connection-unreachable = 主机不可达
connection-timed-out = 超时
connection-no-name = 找不到该主机名
connection-tls = TLS：{ $cause }
certificate-unknown-issuer = 系统不信任其颁发者；可用 SSL_CERT_FILE 指定受信任证书的文件
connection-unknown = 原因未知

## 技能和提示。

skill-no-front-matter = SKILL.md 不是以两行 --- 之间的前置信息开头
skill-name = 其目录名无效，或超过 { $most } 个字符
notice-env-file = 未使用 .env 文件：{ $why }
notice-other = 请注意：{ $why }

## 日志的损坏，以及无法导入的导出行。

damage-of = { $what }：{ $cause }
damage-messages = 消息
damage-sessions = 会话
damage-artifacts = 产物
damage-tool-definitions = 工具定义
damage-tools = 工具
damage-index = 搜索索引
damage-branch = 分支 { $key }
damage-branch-unused = 没有会话使用{ $branch }
damage-branch-session = 会话 { $id } 使用{ $branch }
damage-branch-sessions = 这些会话使用{ $branch }：{ $ids }
damage-branch-end = { $branch }：在第 { $position } 条消息处结束，应为第 { $last } 条
damage-message-missing = { $branch }：缺少第 { $position } 条消息
damage-message-id = 第 { $position } 条消息（{ $id }）：内容与其 ID 不符
damage-session-incomplete = 会话 { $id }：缺少一条消息或已存储的请求上下文
damage-artifact-hash = 产物 { $hash }：内容与其哈希不符
damage-index-terms = 搜索索引：{ $text }的词条已损坏
damage-index-more = 搜索索引：另有 { $more } 项的词条已损坏
damage-index-message = 第 { $position } 条消息（{ $id }）
damage-index-entry = 无所属的条目 { $key }
damage-artifact = 产物 { $hash }
damage-row = { $kind } { $keys }：值与校验和不符
damage-definition = { $name } 的定义已损坏
damage-table-definition = 表 { $name } 的定义
damage-id = 第 { $position } 条消息的 ID
damage-message = 第 { $position } 条消息，ID { $id }
damage-session = 会话 { $id }
damage-toolset = 工具定义 { $name }
damage-file-changes = 一条文件更改记录
damage-checkpoint-message = 缺少一个检查点的消息
damage-checkpoint = 检查点 { $id }
damage-context = 无法读取一个请求上下文
damage-context-missing = 缺少会话 { $id } 的请求上下文
damage-tip = 缺少一个会话的末端消息
damage-in-session = 会话 { $session }：{ $text }
damage-session-row = 其标题、状态、设置或最后一条消息已损坏
damage-table = 表 { $name }：{ $cause }
damage-branch-row = { $branch }：其记录已损坏或缺失
damage-path = 找不到它的消息
damage-format = 其格式编号已损坏
damage-order = 下一条消息与它不相接
damage-gap = 缺少一条消息
damage-after = 会话 { $session }，第 { $position } 条消息之后：{ $problem }
import-truncated = 导出文件不完整：没有结束行；已导入此前的各行
import-newer = 不支持的导出版本 { $found }；此版本的 waterline 最高读取 { $known }：请使用更新的 waterline
import-foreign = 不是 waterline 导出文件：第一行必须是 {"{"}"waterline": VERSION{"}"}
damage-kind = { $table ->
    [branch] 分支
    [toolset] 工具定义
    [session] 会话
    [move] 会话的回退记录
    [cut] 会话的清空标记
    [generation] 折叠
    [frozen] 请求上下文
    [summary] 摘要
    [snapshot] 会话的检查点状态
    [checkpoint] 会话的检查点
    [artifact] 产物
    [artifact_use] 会话的产物
    [artifact_text] 已索引的产物
    [usage] 会话的模型调用
    [job] 任务
    [preference] 用户偏好
    [lease] 会话的租约
    [conversation] 对话
    [vector] 编码器的向量
    [note_vector] 记忆行的向量，编码器
    [message] 消息
    [content] 内容
   *[other] { $what }
}
## 日志无法打开或写入的原因。

log-old-server = 不支持 PostgreSQL { $version }；需要 15 或更高版本
log-thread-panicked = 连接线程异常终止
log-closed = 日志已关闭
log-timed-out = 等待 { $wait } 后超时
log-not-regular = 不是普通文件
log-writer-stopped = 写入线程已停止
log-file-deleted = 文件已被删除
log-transaction-ended = 事务已经结束
log-in-transaction = 事务中不能执行此操作
log-no-result = 事务结束时没有结果
log-operation-dropped = 操作异常终止，或在完成前被放弃
log-open-panicked = 打开日志的线程异常终止
log-parser-panicked = 无法准备一条消息：其解析器异常终止
log-request-context = 无法存储请求上下文：{ $cause }
log-fold-position = 无法在会话 { $id } 的第 { $position } 条消息之后存储折叠：消息数为 { $count }
log-summary-messages = 会话 { $id } 没有第 { $start } 到 { $end } 条消息

## 被拒绝的导出行。

import-line = 无效的导出行：{ $cause }
import-tools-changed = 工具定义已被更改：与其哈希不符
import-context-outside = 会话 { $id } 的请求上下文引用了会话之外的消息
import-base64 = Base64 无效
import-encoding = 未知的编码“{ $name }”
import-message-changed = 消息 { $id } 已被更改：内容与其 ID 不符
import-unknown-session = 此行之前的导出内容中没有会话“{ $id }”
transcript-tools = 会话 { $session } 的工具定义无效：{ $cause }
files-record = 无法读取文件更改的记录：{ $cause }
damage-missing = 没有{ $kind ->
    [artifact] 产物
    [branch-with-message] 含有此消息的分支
    [checkpoint] 检查点
    [file-content] 文件内容
    [message] 消息
    [tool-definitions] 工具定义
    [user] 用户
   *[other] { $what }
} { $id }

## 智能体的设置。

setting-preserve-system = summarization：preserve_system 不能为 false；系统消息始终保留
setting-unknown-model = 未知的模型“{ $name }”
setting-no-middleware = 未知的中间件“{ $name }”；应为以下之一：{ $names }
setting-no-middleware-preset = 未知的中间件预设“{ $name }”；应为以下之一：{ $names }
setting-middleware = 中间件 { $name }
setting-no-tool = tool_selector：没有工具“{ $name }”；可用的工具：{ $names }
setting-role = 角色无效
setting-of-role = 角色 { $name }
setting-schema = 回答的 schema 无效：{ $why }；应为 JSON schema，或用 {"{"}"type": "json_object"{"}"} 表示任意对象
schema-missing = 类型 json_schema 需要 schema
schema-not-one = { $shown } 不是 JSON schema
setting-approval-pattern = [[agent.rules]] 中的 `pattern` 无效

## 中断的数据流和服务器。

stream-no-answer = 数据流结束时没有回答
stream-incomplete = 回答完成之前连接已关闭
stream-lost = 连接中断：{ $cause }
stream-silence = 超时：服务器 { $seconds } 秒没有发送数据
stream-too-long = 响应超过 { $limit } 字节
server-request-failed = 请求失败
server-exited = 服务器已退出
server-lost = 服务器在回答之前退出，或连接中断
server-protocol = 回答不符合协议

## `replay --html` 的页面。

page-title = Waterline 回放
page-counted = 按 { $method }{ " " }
page-counted-by-model = 按各模型的分词器
page-about = { $conversations } 个会话，{ $contexts } 次模型调用，{ $calls } 次工具调用需要 { $values } 个值。token { $counted }计数。价格表 { $prices }：读取缓存的价格是未缓存 token 的 { $read } 倍，写入缓存是 { $written } 倍。
page-method = 每个策略都为每次模型调用规划了本会发送的上下文。“值”是工具调用的参数中、此前消息已出现过的 ID、路径、名称或数字。仍在上下文中的值算作保留；所有值都在的调用算作完整。成本与从不折叠相比。
page-all = 全部数据
page-key = 每一列是一次模型调用：
page-key-read = 从缓存读取的 token
page-key-fresh = 不在缓存中的 token
page-key-fold = 折叠
page-chart-retained = 保留的值，%
page-chart-intact = 完整的调用，%
page-chart-cost = 成本（与从不折叠相比）
page-chart-surprise = 意外度，每 token 的 nat 数
page-policy = 策略
page-window = 窗口
page-retained = 保留的值
page-intact = 完整的调用
page-mean = 平均 token
page-most = 最多 token
page-folds = 折叠
page-cached = 缓存
page-cost = 成本
page-invalid = 无效
page-over = 过大
page-surprise = 意外度
page-session = 最长的会话，逐次调用
page-session-window = 窗口 { $tokens } token
page-caption = 折叠 { $folds } 次，成本 { $cost }，丢失 { $values } 个值中的 { $lost } 个
page-tokens-per-call = 每次调用的 token，{ $policy }
page-fold = 第 { $last } 条消息之前折叠 { $folds } 次；提示词 { $tokens } token
