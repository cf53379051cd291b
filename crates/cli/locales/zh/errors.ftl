### 错误信息及后续操作，按库分节。

error-with-cause = { $error }：{ $cause }

## 日志

error-log-address = 日志地址“{ $url }”无效；请使用文件路径、sqlite:文件 或 postgres://用户@主机/数据库
error-log-open = 无法打开 { $name }：{ $cause }；请检查路径和权限
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
error-log-conflict = 会话 { $session } 已被其他进程修改；请重新加载后重试，或创建分支会话
error-log-leased = 会话 { $session } 正被其他进程使用；请等待其结束、终止该进程，或创建分支会话
error-log-lease-lost = 其他进程已接管会话 { $session }；本次内容未写入：请继续该会话
error-log-race = { $name } 发生写入冲突；请重试
error-log-no-session = 没有会话“{ $id }”；可用 `waterline sessions list` 列出会话
error-log-ambiguous = “{ $prefix }”匹配多个会话：{ $matches }；请输入更多位 ID
error-log-exists = 会话“{ $id }”已存在；请换一个 ID
error-log-missing =
    没有{ $what ->
        [artifact] 产物
        [checkpoint] 检查点
        [message] 消息
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
error-log-fork = 无法在第 { $at } 条消息处分叉会话 { $session }：它有 { $count } 条消息
error-log-session-id = 会话 ID { $id } 无效：请使用 1 到 400 字节，不含控制字符
error-log-backup-of-itself = 无法备份到 { $path }：它就是日志本身；请选择其他文件

## 设置

error-config-file = 配置文件 { $path } 无效
error-config-range = { $key } 为 { $value }；允许的值：{ $allowed }
error-config-server = mcp.{ $name } 必须设置 command 或 url 之一
error-config-project = { $file } 设置了 { $key }（{ $why }）；请在您自己的配置中设置
error-config-variable = { $name }={ $value } 无效：{ $why }
error-config-preference = { $name } 不是可用的偏好；可设置 policy、model 或策略的键（见 `waterline policy keys`）
error-config-seed-variable = { $name } 为 { $value }
error-config-no-home = 无法展开 { $path }：未设置 HOME；请使用绝对路径
error-config-no-data-directory = 没有数据目录：未设置 HOME；请设置 HOME，或用 --db 指定日志
error-config-policy-file = 无法读取策略文件 { $name }
error-config-foreign-policy = 策略文件 { $name } 无效；它由项目或会话指定，因此不显示其内容。运行 `waterline policy show { $name }` 查看原因
error-config-policy-text = 策略文件 { $name } 无效
error-config-key-file = 无法读取密钥文件 { $path }
error-config-key-variable = 没有 { $model } 的 API 密钥：未设置 ${ $variable }
error-config-no-key = { $model } 需要 API 密钥：请设置 ${ $variable }；使用自己的服务器时，请用 --base-url 指定地址
error-config-no-model = { $base } 没有列出其模型；请用 --model 指定
error-config-directory = 无法在 { $path } 中工作；请用 --workspace 指定其他目录
error-config-no-encoder = recall.encoder 为 "{ $name }"，但没有添加过此名称的编码器；`waterline models list` 列出名称，`waterline models add` 可添加
error-config-no-encoder-model = recall.encoder 是服务器地址；请将 recall.model 设为其嵌入模型的名称
error-config-summarizer = 无法使用配置中的摘要模型
error-config-approvals = 无法将已批准的地址保存到 { $path }

## 策略

error-policy-syntax = 不是策略文件：{ $cause }
error-policy-preset = 没有名为“{ $name }”的预设；可选：{ $known }，或指定 TOML 文件
error-policy-stage = 没有名为“{ $name }”的阶段；可选：{ $known }
error-policy-key = 未知的键 { $key }；此处可用：{ $known }
error-policy-value = 不允许 { $key } = { $value }；允许的值：{ $allowed }

## 模型调用

error-call-connect = 无法连接 { $url }：{ $cause }；请检查地址，并确认服务器正在运行
error-call-secret-in-url = 基础 URL 中不得包含用户名、密码、查询或片段；请用 --key-file 或环境变量提供 API 密钥
error-call-url = 基础 URL“{ $url }”无效；必须以 http:// 或 https:// 开头
error-call-key = API 密钥无效：必须是一行不含空格的 ASCII 字符
error-call-timeout = { $url }：等待响应超过 { $seconds } 秒
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
error-call-malformed = { $url }：应返回事件流，实际返回 { $start }；请检查基础 URL
error-call-no-vectors = { $url } 未返回向量：{ $start }；请检查 recall.encoder 中的地址，并确认 recall.model 是嵌入模型
error-call-no-logprobs = { $url } 未返回提示词的对数概率：{ $start }；请使用 vLLM、SGLang 或启用 logits_all 的 llama-cpp-python（见 docs/replay.md）
error-call-failed = 服务商报告错误：{ $reason }
error-call-interrupted = 数据流中断：{ $cause }

## 会话

error-session-empty = 没有可发送的内容；请先输入消息
error-session-crowded = 同时写入此会话的进程过多；请重试
error-session-ending = 已取消：程序正在退出

## 代理

error-agent-state = 会话 { $session }：存储的 { $field } 无法读取（{ $why }）；若由更新的版本写入，请使用该版本，否则请恢复到较早的检查点
error-agent-in-use = 会话 { $session } 正被其他进程使用；请等待其结束、终止该进程，或创建分支会话
error-agent-other-user = 会话 { $session } 属于其他用户；请用该用户的 --user 打开
error-agent-no-session = 还没有可继续的会话
error-agent-finished = 没有可继续的内容：上一轮已完成
error-agent-duplicate-tool = 工具名称 "{ $name }" 重复；第二个工具被忽略
error-agent-no-tool = 没有工具与 "{ $pattern }" 匹配；可用的工具：{ $known }
error-agent-unknown-role = 未知角色 "{ $name }"；应为以下之一：{ $known }

## 沙箱

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

## 其他程序的会话文件

error-transcript-database = { $name } 是 SQLite 数据库，但不是 OpenAI Agents 的会话数据库
