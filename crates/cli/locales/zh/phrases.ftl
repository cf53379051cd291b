### 各库的文本（`phrase!`）：警告、违反的规则、解析错误、允许的值。

## 关于不规则对话的警告。

warning-mid-system = 对话中间出现系统消息
warning-empty-message = 空消息不发送
warning-early-result = { $name } 的结果出现在其调用之前
warning-repeated-id = 调用 ID“{ $given }”重复使用；改以“{ $id }”发送
warning-missing-id = 有一个调用没有 ID；以“{ $id }”发送
warning-repeated-user = 连续两条用户消息；如果接口格式要求，会合并
warning-late-result = 迟到的结果；紧跟在其调用之后发送
warning-result-of-earlier-step = “{ $given }”的结果属于比此消息中其他结果更早的一步；不发送
warning-second-result = 调用“{ $given }”的第二个结果；不发送
warning-orphan-result = “{ $given }”的结果没有对应的调用；不发送
warning-unanswered-call = 对 { $name } 的调用没有结果；按“已中断”处理
warning-dangling-thought = 没有回答的思考不发送
warning-misplaced-part = 移除了 { $role } 消息不能包含的部分
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

## 消息列表违反的接口规则。

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
violation-two-in-a-row = 连续两条 { $role } 消息
violation-blank-text-block = 空白文本块
violation-result-order = tool_result 必须在其他内容块之前
violation-no-parts = 有一轮没有 parts
violation-first-turn = 第一轮不是用户的
violation-unknown-role = 未知的角色“{ $role }”
violation-two-turns = 连续两轮 { $role }
violation-response = “{ $name }”的响应在上一轮没有对应的调用
violation-no-response = 没有响应的调用：{ $names }
violation-empty-role = 空的 { $role } 消息
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
parse-no-field = 不是对话：没有 "messages"、"input" 或 "contents" 字段
parse-no-field-of-wire = 不是对话：没有 "{ $name }" 字段（{ $wire } 的消息在其中）
parse-field-no-list = 不是对话："{ $name }" 不是消息列表
parse-message = 不是对话：第 { $number } 条消息：{ $cause }

## 其他程序的会话文件。

transcript-line = 第 { $line } 行：{ $text }
transcript-invalid-json = 无效的 JSON：{ $cause }
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
allowed-text = 文本
allowed-texts = 文本列表
allowed-message-numbers = 消息编号列表，从 1 开始
allowed-stages = 阶段名称列表，每个一次
allowed-at-least = 至少 { $least }
allowed-hosts = 名称列表，如 crates.io、*.pypi.org 或 主机:端口
allowed-protected = 受保护路径的列表：{ $names }
allowed-absolute = 绝对路径，或以 ~/ 开头
policy-unused-section = 设置了 [{ $name }] 一节，但“{ $name }”不在阶段列表中
policy-is-section = { $key } 是一节；请设置其中的键：{ $key }.键
policy-low-not-below-high = fold.low（{ $low }）必须低于 fold.high（{ $high }）
project-names-key = 它指定 API 密钥
project-writes-files = 它决定文件写到哪里
project-sends-messages = 它决定消息发送到哪里
project-decides-permissions = 它决定代理可以做什么
project-starts-server = 它启动或连接服务器
variable-share = 必须是 0.0 到 1.0 的数
variable-flag = 必须是 true 或 false
variable-whole = 应为整数
variable-lang = 不支持的语言“{ $name }”；应为 en 或 zh
variable-tokenizer = 未知的 token 计数方法“{ $name }”；已知的方法：{ $known }, tiktoken

## 解析器和操作系统。

error-toml-at = TOML 解析错误：第 { $line } 行第 { $column } 列
error-toml-unknown-key = 未知的键 `{ $key }`；应为：{ $known }
error-toml-missing-key = 缺少键 `{ $key }`
error-toml-type = 类型错误：是 { $found }，应为 { $expected }
error-toml-duplicate = 键重复
error-toml-other = 原因：{ $reason }
error-config-json = 不是设置的 JSON 对象：{ $cause }
error-json = { $kind ->
    [end] JSON 意外结束
    [data] 值不合适
   *[other] 不是有效的 JSON
}（{ $text }）
error-system = { $kind ->
    [not-found] 文件或目录不存在
    [permission-denied] 权限不足
    [already-exists] 文件已存在
    [is-a-directory] 是目录
    [not-a-directory] 不是目录
    [storage-full] 磁盘空间不足
    [read-only] 文件系统只读
    [connection-refused] 连接被拒绝
    [timed-out] 操作超时
    [broken-pipe] 管道已关闭
   *[other] 系统错误（{ $text }）
}

## 连接失败的原因。

connection-refused = 连接被拒绝
connection-closed = 服务器关闭了连接
connection-unreachable = 主机不可达
connection-timed-out = 超时
connection-no-name = 找不到该主机名
connection-tls = TLS：{ $cause }
connection-unknown = 原因未知

## 技能和提示。

skill-no-front-matter = SKILL.md 不是以两行 --- 之间的前置信息开头
skill-name = 其目录名无效，或超过 { $most } 个字符
notice-env-file = 未使用 .env 文件：{ $why }
notice-other = 请注意：{ $why }

## 日志的损坏，以及无法导入的导出行。

damage-of = { $what }：{ $cause }
damage-error = 错误：“{ $text }”
damage-database = 数据库报告：“{ $text }”
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
damage-order = 下一条消息与它不相接
damage-gap = 缺少一条消息
damage-after = 会话 { $session }，第 { $position } 条消息之后：{ $problem }
import-line = 无效的导出行：“{ $text }”
import-truncated = 导出文件不完整：没有结束行；已导入此前的各行
import-newer = 不支持的导出版本 { $found }；此版本的 waterline 最高读取 { $known }：请使用更新的 waterline
import-foreign = 不是 waterline 导出文件：第一行必须是 {"{"}"waterline": VERSION{"}"}
damage-kind = { $table ->
    [branch] 分支
    [toolset] 工具定义
    [session] 会话
    [move] 会话的移动记录
    [cut] 会话的清除标记
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
