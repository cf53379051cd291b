### 其他库和操作系统的文字（cli/src/foreign.rs）。英文原文由这些库提供。

## JSON。

foreign-at = 第 { $b } 行第 { $c } 列：{ $a }
foreign-json-end = 内容意外结束
foreign-json-trailing = 结束后还有多余的内容
foreign-json-trailing-comma = 末尾有多余的逗号
foreign-json-comma = 此处应为逗号或结束括号
foreign-json-colon = 此处应为冒号
foreign-json-value = 此处应为值
foreign-json-key = 键必须是字符串
foreign-json-number = 数字无效
foreign-json-escape = 转义无效
foreign-json-control = 字符串中有控制字符
foreign-nested = 嵌套过深

## 文档中的值。

foreign-missing-field = 缺少字段 `{ $a }`
foreign-unknown-field = 未知的字段 `{ $a }`；应为：{ $b }
foreign-no-field = 未知的字段 `{ $a }`；此处不应有字段
foreign-unknown-value = 未知的值 `{ $a }`；应为：{ $b }
foreign-duplicate-field = 字段 `{ $a }` 重复
foreign-type = 类型错误：是{ $a }，应为：{ $b }
foreign-value = 值不合适：是{ $a }，应为：{ $b }
foreign-length = 长度为 { $a }，应为：{ $b }
foreign-hosts = 应为 true、false 或主机列表
foreign-middlewares = 应为中间件列表的名称，或一个列表
foreign-middleware = 应为中间件的名称，或名称加一个表
foreign-memory = 应为 true、false、一个目录，或含有 `directory` 和 `extract` 的表
foreign-price = 应为一个价格，或含有 `input` 和其他价格的表
foreign-one-of-two = `{ $a }` 或 `{ $b }`
foreign-no-variant = 值不属于任何允许的形式
foreign-integer = 整数 `{ $a }`
foreign-number = 小数 `{ $a }`
foreign-boolean = 布尔值 `{ $a }`
foreign-string = 字符串“{ $a }”
foreign-one-of = { $a } 之一
foreign-here-or-private = here 或 private
foreign-en-or-zh = en 或 zh
foreign-dir-or-read-only = 目录 或 目录:ro
foreign-a-string = 字符串
foreign-a-boolean = 布尔值
foreign-a-map = 对象
foreign-a-sequence = 列表
foreign-null = 空值
foreign-whole-number = 非负整数
foreign-an-integer = 整数
foreign-a-number = 数字
foreign-but-expected = { $a }；应为：{ $b }

## TOML。

foreign-duplicate-key = 键重复
foreign-toml-quotes = 字符串必须加引号
foreign-toml-no-value = 键没有值
foreign-toml-no-equals = 键和值之间缺少 `=`
foreign-toml-no-comma = 元素之间缺少逗号
foreign-toml-unclosed-string = 字符串没有结束
foreign-toml-unclosed-array = 列表没有结束
foreign-toml-unclosed-table = 表没有结束
foreign-toml-key = 键无效
foreign-toml-unexpected = 有多余的内容
foreign-toml-value = 值无效
foreign-toml-number = 数字无效
foreign-toml-pair = 键值对无效
foreign-a-key = 键
foreign-a-value = 值
foreign-a-newline = 换行

## JSON schema。

foreign-schema = 它不是有效的 JSON schema

## 参数中的数字，以及标准库。

foreign-not-a-number = 不是数字
foreign-number-too-large = 数字过大
foreign-number-too-small = 数字过小
foreign-out-of-range = { $a } 不在允许的范围 { $b } 内
foreign-regex =
    正则表达式有误：
    { $a }
    原因：{ $b }
foreign-system = { $a }
foreign-not-a-directory = 不是目录
foreign-is-a-directory = 是目录
foreign-exists = 文件已存在
foreign-full = 磁盘空间不足
foreign-read-only = 文件系统只读
foreign-open-files = 打开的文件过多
foreign-timed-out = 操作超时
foreign-unreachable = 主机不可达
foreign-utf8 = 不是有效的 UTF-8
foreign-end-of-file = 文件意外结束
foreign-not-found = 文件或目录不存在
foreign-permission-denied = 权限不足
foreign-connection-refused = 连接被拒绝
foreign-connection-closed = 连接已关闭
foreign-no-host = 找不到该主机名

## 数据库。

foreign-sqlite-open = 无法打开数据库文件
foreign-sqlite-io = 磁盘读写错误
foreign-sqlite-malformed = 数据库文件已损坏
foreign-sqlite-foreign = 文件不是数据库
foreign-sqlite-table = 没有表 { $a }
foreign-sqlite-column = 没有列 { $a }
foreign-postgres-password = 用户 { $a } 的密码验证失败
foreign-postgres-no-password = 缺少密码
foreign-postgres-database = 没有数据库 { $a }
foreign-postgres-role = 没有用户 { $a }
foreign-postgres-host = 服务器不允许来自 { $a } 的连接
foreign-postgres-no-host = 未指定主机
foreign-postgres-tls = 服务器不支持 TLS
foreign-postgres-url = 地址无效：“{ $a }”
foreign-postgres-busy = 等待连接超时
foreign-postgres-busy-because = 等待连接超时：{ $a }

## TLS 和 HTTP。

foreign-tls-issuer = 证书的颁发者不受信任
foreign-tls-name = 证书与主机名不符：{ $a }
foreign-tls-expired = 证书已过期
foreign-tls-certificate = 服务器的证书无效（{ $a }）
foreign-tls-not-tls = 服务器的回应不是 TLS；地址可能应以 http:// 开头
foreign-tls-alert = 服务器中止了 TLS 连接（{ $a }）
foreign-http-broken = 响应在中途中断

## 调用的结果

foreign-denied = 用户已拒绝
foreign-denied-because = 用户已拒绝：{ $a }
foreign-command-status = 命令以状态 { $a } 退出
foreign-command-processes = 命令被终止：启动了过多进程
foreign-command-memory = 命令被终止：占用了过多内存
foreign-command-signal = 命令被信号 { $a } 终止
foreign-command-timeout = 命令在 { $a } 秒后超时，已连同其所有子进程一起终止
foreign-command-disk = 命令被终止：占用了过多磁盘空间
foreign-command-file = 命令以状态 { $a } 退出：有文件过大
foreign-not-run = 未执行：{ $a }
foreign-blocked = 未执行：{ $a } 已连续失败 { $b } 次，在调用其他工具之前不再执行
foreign-blocked-arguments = 未执行：{ $a } 以相同的参数连续失败了 { $b } 次
foreign-disabled = 未执行：{ $a } 已停用；可在消息中写 @{ $b } 来启用
foreign-no-approval = { $a } 秒内未获批准
foreign-too-many-calls = 每条消息最多执行 { $a } 次调用
foreign-must-end = 本轮必须结束（{ $a }）
foreign-no-terminal = 没有人可以批准；可以用 --yes 启动，它批准所有调用，极高风险的调用、未隔离的命令和受保护路径除外
foreign-not-covered = 没有人可以批准，而 --yes 不包括极高风险的调用、未隔离的命令和受保护路径
foreign-no-one = 没有人可以批准
foreign-unknown-tool = 未知的工具“{ $a }”
foreign-cancelled = 在开始之前被用户取消
foreign-cancelled-running = 在执行中被用户取消；效果未知
foreign-turn-calls = 已达到每轮 { $a } 次模型调用的上限
foreign-session-calls = 已达到会话打开以来 { $a } 次模型调用的上限
foreign-task-calls = 已达到此任务 { $a } 次模型调用的上限
foreign-tool-calls = 已达到每轮 { $a } 次工具调用的上限
foreign-turn-time = 已达到每轮 { $a } 秒的时间上限
foreign-same-call = { $a } 连续 { $b } 次以相同参数被调用
foreign-unsuccessful = { $a } 连续 { $b } 次失败或被拒绝
foreign-arguments-not-json = 参数不是有效的 JSON：{ $a }
foreign-arguments = { $a } 的参数无效：{ $b }
foreign-bad-regex = 正则表达式无效：{ $a }
foreign-regex-syntax = 语法错误
foreign-bad-glob = 通配符无效：{ $a }
foreign-bad-url = URL { $a } 无效
foreign-no-match = 在 { $a } 中没有找到 `old`
foreign-several-matches = `old` 在 { $b } 中出现 { $a } 次
foreign-not-utf8 = { $a } 不是有效的 UTF-8，不能作为文本编辑
foreign-private-address = { $a } 是私有或本机地址，不能获取
foreign-fetch-timeout = { $a } 在 { $b } 秒后超时
foreign-redirected = 重定向到 { $a }
foreign-content-type = 不支持内容类型 { $a }：不是文本
foreign-url-scheme = 只支持 http 和 https 地址
foreign-not-text = { $a } 不是文本文件
foreign-command-read-only = 命令对 { $a } 只有读取权限：用户没有批准在那里修改
foreign-path-missing = { $a } 不存在
foreign-path-outside = { $a } 不在允许访问的目录中：{ $b }；只有用户才能授权更多目录
foreign-path-directory = { $a } 是目录
foreign-path-file = { $a } 是文件
foreign-path-irregular = { $a } 不是普通文件
foreign-path-read-only = { $a } 是只读的：用户只授予了读取权限
foreign-path-binary = { $a } 不是文本文件（{ $b } 字节）
foreign-path-denied = 权限不足：{ $a } 或其上级目录

## 成功的调用的结果

foreign-created = 已创建 { $a }（{ $b } 字节）
foreign-overwrote = 已覆盖 { $a }（{ $b } 字节）
foreign-edited = 已编辑 { $a }：第 { $b } 行，1 处替换
foreign-edited-several = 已编辑 { $a }：{ $b } 处替换，第一处在第 { $c } 行
foreign-not-written = { $a } 的内容已经如此，未写入
foreign-no-output = [没有输出]
foreign-no-files = [没有文件匹配 { $a }]
foreign-no-lines = [没有行匹配 { $a }]
foreign-no-messages = [此轮之前没有消息匹配 { $a }]
foreign-empty-directory = [目录为空]
foreign-empty-file = [文件为空]
foreign-empty-list = [任务列表为空]
foreign-no-content = [工具没有返回内容]
foreign-lines = [第 { $a } 至 { $b } 行，共 { $c } 行]
foreign-image = [图片：{ $a }]
foreign-will-fold = 将在下一次调用之前折叠上下文
foreign-handed-over = 已移交给 { $a }
