### 错误信息及后续操作，按库分节。

error-with-cause = { $error }：{ $cause }

## 日志

error-log-address = 日志地址“{ $url }”无效；请使用文件路径、sqlite:文件 或 postgres://用户@主机/数据库
error-log-open = 无法打开 { $name }：{ $cause }；请检查路径或地址，以及权限
error-log-foreign = { $name } 不是 Waterline 的日志；请另选新文件，并用 `waterline sessions import` 导入其内容
error-log-newer = { $name } 的格式为 { $found }，而此版本最高支持格式 { $known }；请升级 waterline
error-log-read-only = { $name } 为只读；请为文件及其目录添加写权限，或使用副本
error-log-full = { $name } 所在磁盘空间不足；本次内容未写入，此前存储的内容完好：请释放空间后重试
error-log-locked = { $name } 已被其他进程锁定；请等待其结束或终止该进程
error-log-busy = { $name } 的 { $connections } 个连接在 { $wait } 内全部被占用；请重试，或增加连接数
error-log-flush = 写入 { $name } 失败（{ $cause }），已停止写入；请检查磁盘后重新启动：此前已确认的内容均已保存
error-log-deleted = 文件 { $name } 在使用中被删除或替换；本次写入已丢失，已停止写入：请恢复该文件后重新启动
error-log-damaged = { $name } 已损坏（{ $cause }）；`waterline sessions verify` 列出损坏之处，`waterline sessions export` 导出可读取的内容，其余可从备份恢复
error-log-connection = 无法连接 { $name }（{ $cause }）；请确认服务器正在运行，然后重试
error-log-conflict = 会话 { $session } 已被其他进程修改；请重新加载后重试，或创建分叉会话
error-log-leased = 会话 { $session } 正被其他进程使用；请等待其结束、终止该进程，或创建分叉会话
error-log-lease-lost = 其他进程已接管会话 { $session }；本次内容未写入：请继续该会话
error-log-race = { $name } 发生写入冲突；请重试
error-log-no-session = 没有会话“{ $id }”；可用 `waterline sessions list` 列出会话
error-log-ambiguous = “{ $prefix }”匹配多个会话：{ $matches }；请输入更多位 ID
error-log-exists = 会话“{ $id }”已存在；请换一个 ID
error-log-missing = 没有{ $kind ->
    [artifact] 产物
    [branch-with-message] 含有此消息的分支
    [checkpoint] 检查点
    [file-content] 文件内容
    [message] 消息
    [tool-definitions] 工具定义
    [user] 用户
   *[other] { $what }
} { $id }
error-log-no-id = 消息 ID“{ $id }”无效；应为 64 位十六进制数字
error-log-line = 第 { $line } 行：{ $cause }
error-log-file = 无法写入 { $path }：{ $cause }
error-log-nothing-to-redo = 会话 { $session } 没有可重做的内容
error-log-not-folded = 没有可撤销的内容：会话 { $session } 尚未折叠
error-log-not-cleared = 会话 { $session } 没有被清空
error-log-not-in-session = 无法回退会话 { $session }：消息 { $message } 不在其中
error-log-too-far-back = 无法将会话 { $session } 回退那么远：它有 { $count } 条消息
error-log-too-few-turns = { $count ->
    [0] 此会话没有轮次
   *[other] 此会话只有 { $count } 轮
}；无法撤销 { $asked } 轮
error-log-fork = 无法在第 { $at } 条消息处分叉会话 { $session }：它有 { $count } 条消息
error-log-session-id = 会话 ID“{ $id }”无效：请使用 1 到 400 字节，不含控制字符
error-log-backup-of-itself = 无法备份到 { $path }：它就是日志本身；请选择其他文件

## 设置

error-config-file = 配置文件 { $path } 无效
error-config-range = { $key } 为 { $value }；允许的值：{ $allowed }
error-config-server = mcp.{ $name } 必须设置 command 或 url 之一
error-config-project = { $file } 设置了 { $key }（{ $why }）；请在您自己的配置中设置
error-config-variable = { $name }={ $value } 无效：{ $why }
error-config-preference = { $name } 不是偏好；偏好有 policy、model、策略的键（见 `waterline policy keys`），以及 max_message_history 这样的名称
error-config-seed-variable = { $name } 的值 { $value } 无效
error-config-no-home = 无法展开 { $path }：未设置 HOME；请使用绝对路径
error-config-no-data-directory = 没有数据目录：未设置 HOME；请设置 HOME，或用 --db 指定日志
error-config-policy-file = 无法加载策略
error-config-foreign-policy = 策略文件 { $name } 无效；它由项目或会话指定，因此不显示其内容。运行 `waterline policy show { $name }` 查看原因
error-config-policy-setting = { $origin } 中的 { $key } 无效
error-config-policy-text = 策略文件 { $name } 无效
error-config-key-file = 无法读取密钥文件 { $path }
error-config-key-variable = 没有 { $model } 的 API 密钥：未设置 ${ $variable }
error-config-unknown-model = 未知的模型“{ $model }”；请在配置的 [models."{ $model }"] 下描述它，或用 --base-url 指定其服务器的地址。若它是 OpenAI 的模型，请设置 ${ $variable }
error-config-no-key = 没有 { $model } 的 API 密钥：请设置 ${ $variable }；使用自己的服务器时，请用 --base-url 指定地址
error-config-no-model = { $base } 没有列出其模型；请用 --model 指定
error-config-directory = 无法在 { $path } 中工作：{ $cause }；请用 --workspace 指定其他目录
error-config-no-encoder = recall.encoder 为“{ $name }”，但没有添加过此名称的编码器；`waterline models list` 列出名称，`waterline models add` 可添加
error-config-no-encoder-model = recall.encoder 是服务器地址；请将 recall.model 设为其嵌入模型的名称
error-config-summarizer = 无法使用配置中的摘要模型
error-config-approvals = 无法将已批准的地址保存到 { $path }

## 策略

error-policy-syntax = { $cause }
error-policy-preset = 没有名为“{ $name }”的预设；可选：{ $known }，或指定 TOML 文件
error-policy-stage = 没有名为“{ $name }”的阶段；可选：{ $known }
error-policy-key = 未知的键 { $key }；此处可用：{ $known }
error-policy-missing-key = 缺少键 { $key }；允许的值：{ $allowed }
error-policy-value = 不允许 { $key } = { $value }；允许的值：{ $allowed }

## 模型调用

error-call-connect = 无法连接 { $url }：{ $cause }；请检查地址，并确认服务器正在运行
error-call-no-tls = { $url }：服务器不支持 TLS；请在地址中使用 http://
error-call-expects-tls = { $url }：服务器要求 TLS；请在地址中使用 https://
error-call-certificate = { $url }：服务器的证书不被接受：{ $cause }
error-call-secret-in-url = 基础 URL 中不得包含用户名、密码、查询或片段；请用 --key-file 或环境变量提供 API 密钥
error-call-url = 基础 URL“{ $url }”无效；必须以 http:// 或 https:// 开头
error-call-key = API 密钥无效：必须是一行不含空格的 ASCII 字符
error-call-timeout = { $url }：等待响应超过 { $seconds } 秒；如需等待更久，请在配置中设置 first_token_timeout 或 silence_timeout
error-call-refused =
    { $kind ->
        [authentication] 身份验证失败
        [access] 拒绝访问
        [not-found] 未找到
        [timeout] 请求超时
        [rate-limit] 请求过于频繁
        [overflow] 超出上下文窗口
        [overloaded] 服务器过载
        [server] 服务器错误
        [request] 请求无效
       *[other] 请求失败
    }（{ $status }）
error-call-refused-hint =
    { $kind ->
        [authentication] ；请检查 API 密钥
        [access] ；请检查 API 密钥的权限
        [not-found] ；请检查模型名和基础 URL
       *[other] { "" }
    }
error-call-not-found-hint = （{ $url }）；请检查模型名和基础 URL；如果服务器使用其他线路格式，请指定：--wire openai-chat
error-call-malformed = { $url }：应返回事件流，实际返回 { $start }；请检查基础 URL
error-call-no-vectors = { $url } 未返回向量：{ $start }；请检查 recall.encoder 中的地址，并确认 recall.model 是嵌入模型
error-call-no-logprobs = { $url } 未返回提示词的对数概率：{ $start }；请使用 vLLM、SGLang 或启用 logits_all 的 llama-cpp-python（见 docs/replay.md）
error-call-failed = 服务商报告错误：{ $reason }
error-call-interrupted = 数据流中断：{ $cause }

## 会话

error-session-empty = 没有可发送的内容；请先输入消息
error-session-crowded = 同时写入此会话的进程过多；请重试
error-session-ending = 已取消：程序正在退出

## 智能体

error-agent-state = 会话 { $session }：存储的 { $field } 无法读取（{ $why }）；若由更新的版本写入，请使用该版本，否则请恢复到较早的检查点
error-agent-in-use = 会话 { $session } 正被其他进程使用；请等待其结束、终止该进程，或创建分叉会话
error-agent-other-user = 会话 { $session } 属于其他用户；请用该用户的 --user 打开
resume-model-missing = 中断的一轮由 { $model } 开始，而该模型现在不可用；请用 --model 和 --base-url 指定模型，或用 --model offline 让离线模型继续
resume-none-here = 还没有会话在 { $path } 中工作过；`waterline sessions list` 列出所有会话，--resume ID 继续其中一个
resume-none-private = 还没有会话在私有工作区中工作过；`waterline sessions list` 列出所有会话，--resume ID 继续其中一个
error-agent-no-session = 还没有可继续的会话；用 `waterline chat` 开始一个
error-agent-finished = 没有可继续的内容：上一轮已完成；请改用 --session 发送消息
error-agent-duplicate-tool = 工具名称“{ $name }”重复；第二个工具被忽略
error-agent-no-tool = 没有工具与“{ $pattern }”匹配；可用的工具：{ $known }
error-agent-unknown-role = 未知的角色“{ $name }”；应为以下之一：{ $known }

## 沙箱

error-unknown-wire = 未知的协议格式“{ $name }”；应为以下之一：{ $known }
error-invalid-host = 主机“{ $name }”无效；应为名称，如 crates.io、*.pypi.org 或 HOST:PORT
error-no-directory = 缺少目录；应为 DIR 或 DIR:ro
error-sandbox-workspace = 无法打开工作区 { $path }：{ $why }
error-sandbox-grant = 无法授权目录 { $path }：{ $why }
error-sandbox-outside = { $path } 不在允许访问的目录（{ $allowed }）内；可用 --allow-dir 授权更多目录
error-sandbox-not-found = { $path } 不存在
error-sandbox-is-directory = { $path } 是目录
error-sandbox-not-directory = { $path } 是文件
error-sandbox-not-regular = { $path } 不是普通文件
error-sandbox-too-large = { $path } 过大，无法读取：{ $bytes } 字节，上限为 { $limit }
error-sandbox-not-text = { $path } 不是文本文件（{ $bytes } 字节）
error-sandbox-path = 路径“{ $path }”无效：{ $why }
error-sandbox-read-only = { $path } 为只读：您只授予了读取权限
error-sandbox-protected = { $path } 记录此工作区所属的会话，不能修改
error-sandbox-protected-link = { $path } 指向受保护的 { $target }；请直接使用该路径，而不是链接
error-sandbox-permissions = 没有访问 { $path } 或其上级目录的权限；可用 chmod 修改
path-invalid-owner = 无法读取其中的 { $file }
path-owner-not-regular = 其中的 { $file } 不是普通文件
path-other-session = 它属于会话 { $session }
path-inside-writable = 只读目录不能位于可写目录 { $outer } 中
path-not-directory = 不是目录
path-not-granted = 不在已授权的目录中
path-nul-byte = 含有 NUL 字节
path-no-file-name = 没有文件名
path-through-link = 路径中有符号链接
path-denied-or-link = 权限不足，或链接指向目录之外
path-not-regular = 不是普通文件
path-too-large = 超过 { $megabytes } MB
path-not-utf8 = 不是有效的 UTF-8
sandbox-not-linux = Landlock 仅适用于 Linux
sandbox-no-landlock = Landlock：内核不支持 ABI 3 或更高版本，或已禁用 Landlock
sandbox-no-host-list = Landlock：限定主机列表需要 ABI 4（Linux 6.7）；请允许全部网络或不允许网络
sandbox-not-checked = 检查 Landlock 时出错

## 其他程序的会话文件

error-transcript-not-json = { $name } 不是受支持格式的会话文件（第 { $line } 行：不是 JSON）；支持的格式：{ $known }
error-transcript-database = { $name } 是 SQLite 数据库，但不是 OpenAI Agents 的会话数据库
