### `run`、`plan`、`policy`、`convert`、`tokens`、`check`、`config` 以及各命令共用的文字。

## 文件与输入

cannot-read = 无法读取 { $path }
cannot-open = 无法打开 { $path }
cannot-write = 无法写入 { $path }
cannot-create = 无法创建 { $path }
directory-missing = 目录不存在
input-missing = { $name } 既不是文件，也不是日志中的会话；`waterline sessions list` 列出会话
file-exists = { $path } 已存在；可用 --force 覆盖
file-is-input = { $path } 是输入文件，不能覆盖；请选择其他文件
standard-input = 标准输入
reading = 正在读取
db-missing = { $path } 处没有日志；用 `waterline chat --db { $path }` 开始一个，或用 `waterline sessions import FILE --db { $path }` 导入其他程序的会话
db-empty = --db 为空；请指定文件或 URL
sessions-none-named = 没有输入；请指定会话文件或目录，或用 --db 指定已存储的会话
sessions-none-below = { $path }：此目录下没有会话文件（{ $extensions }）
sessions-none-readable = 没有任何文件是受支持格式的会话文件
skipped = { $what }；已跳过
skipped-files = 另有 { $count } 个文件不是会话文件；已跳过
skipped-in-file = { $file }：{ $what }；已跳过
skipped-lines = { $file }：另有 { $count } 行已跳过
argument-size = token 数“{ $value }”无效；请写成 8000、8k 或 1m
argument-setting = “{ $value }”不是 key=value 的形式
model-unknown = 未知的模型“{ $name }”：使用保守估计；未指定窗口时按 { $window } 个 token 计算
model-not-named = 未指定模型：使用保守估计；未指定窗口时按 { $window } 个 token 计算
at-message = 第 { $number } 条消息：{ $what }
count-messages = { $count } 条消息
part-thinking = （思考）
part-image = （图片）

## 关于设置的提示

notice-narrowed = { $file } 设置 { $key } = { $wanted }，但上限为 { $allowed }；请在您的用户配置中放宽
notice-untrusted-model = 已忽略 waterline.toml 中的 { $key }“{ $model }”；若要使用，请在您的用户配置中添加 [models."{ $model }"]
notice-project-address = 此目录的 waterline.toml 可能将对话发送到 { $address }
notice-key-from-env = 使用 .env 中的 { $name }
notice-unused-variable = { $variable } 无效：它用于策略 { $preset }，而当前策略为 { $policy }
notice-fallback = 已忽略后备模型“{ $model }”：{ $why }
notice-unconfined = 此处无法为命令启用沙箱（{ $why }）；每条命令都需要您批准
notice-role-taken = 已忽略项目的角色 { $name }：已有同名角色
kept-prompt = --system 只用于新会话；此会话保留原有的提示词
kept-role = 此会话仍为角色 { $own }，保留原有的提示词；{ $asked } 需要新会话
kept-prompt-in-role = 此会话此后为角色 { $role }；保留原有的提示词
kept-model = 此会话之前使用 { $before }；此后使用 { $now }

## `run`

run-session = 会话 { $id }，模型 { $model }
run-failed = { $name } 失败：{ $cause }
refused-outside = 沙箱可能拒绝了对 { $path } 的访问；如需允许命令读取，请在配置的 [agent] 下添加 read_dirs = ["{ $path }"]；如需允许修改，请用 --allow-dir 授权目录
refused-read-only = 沙箱可能拒绝了对 { $path } 的修改：其目录只授权读取；授权时请去掉 :ro
refused-protected = { $name } 对命令只读；如需允许命令修改，请在配置的 [agent] 下添加 writable_protected = ["{ $name }"]
refused-moved = 命令创建或修改了受保护的 { $path }；命令的版本现为 { $moved }；如需允许，请在配置的 [agent] 下添加 writable_protected = ["{ $name }"]
refused-restored = 命令修改了受保护的 { $path }，已恢复；如需允许，请在配置的 [agent] 下添加 writable_protected = ["{ $name }"]
refused-unchecked = 命令之后无法检查 { $path } 下的受保护路径：文件过多，或无法读取；在其中运行其他程序之前，请查看有无新的钩子和设置文件
refused-network = 沙箱可能拒绝了连接；如需允许某个主机，请使用 --allow-host HOST，或在配置的 [agent] 下添加 network = ["HOST"]
run-schema-kept = --schema 只用于新的一轮；本轮保留原有的 schema
run-stopped = 已停止；此前的内容都在会话 { $session } 中
run-no-message = 没有消息；请作为参数或通过标准输入提供
run-empty-message = 消息为空；可用 --resume 继续中断的会话
run-reading-stdin = 正在读取标准输入；用 < /dev/null 可略过
run-stdin-not-text = 标准输入不是文本
run-schema-not-json = { $path } 不是 JSON
run-schema-null = { $path } 的内容为 null，不是 schema；若不限制回答，请去掉 --schema
run-schema-invalid = { $path } 中的 schema 无效
turn-limit = 提前结束：{ $why }
turn-halted = 已停止：{ $why }
turn-question =
    代理提问：{ $question }
    请用以下命令回答：waterline run --session { $session } "…"
turn-approval = 等待批准：{ $call }
turn-empty = 回答为空
turn-handed-off = 由 { $role } 在会话 { $session } 中继续
call-retry = 正在重试：{ $why }
call-retry-in = { $seconds } 秒后重试：{ $why }
call-model = 改用 { $model }
call-summarizing = 正在总结较早的消息
call-folded = 已折叠 { $before } → { $after } token：{ $why }

## `plan`

plan-column-messages = 消息
plan-column-treatment = 处理
plan-column-tokens = token
plan-column-content = 内容与原因
plan-treatment =
    { $name ->
        [verbatim] 原文
        [trimmed] 截短
        [preview] 预览
        [summary] 摘要
        [recalled] 召回
        [omitted] 省略
       *[other] { $name }
    }
plan-tools = 工具定义
plan-system-prompt = 系统提示词
plan-calls = 助手调用 { $calls }
plan-fits = 可容纳
plan-folded = 已折叠
plan-no-model = 未指定模型
plan-facts = { $count } 条消息 · 策略 { $policy } · { $model }（{ $method }）
plan-tokens = { $before } → { $after } token
plan-of-window = { $window } 的 { $share }%
plan-marks = 高水位 { $high } · 低水位 { $low }
plan-too-large = 没有可折叠的内容，且上下文超出窗口
plan-empty = 没有可发送的内容
plan-everything-fits = 全部可容纳：未折叠
plan-fold-reason = 已折叠：{ $reason }
plan-below-low =
    { $tokens ->
        [0] 恰在低水位
       *[other] 低于低水位 { $tokens } token
    }
plan-above-low = 高于低水位 { $tokens } token，因为固定的消息、最新的用户消息和最新的步骤必须保留
plan-low-not-needed = 高于低水位 { $tokens } token；只有超过高水位的折叠才须降到低水位
plan-fold-report = { $place }：{ $cause }
plan-fold-report-by =
    { $name ->
        [low-mark] 低水位规则
        [limit] 窗口上限
        [level] 手动折叠
        [arrival] 新消息规则
       *[other] 阶段 { $name }{ " " }
    }
plan-fold-report-dropped = 最后丢弃消息的是{ $by }（{ $count } 条），剩余 { $left } token
plan-fold-report-shortened = 未丢弃消息，{ $by }处理后剩余 { $left } token
plan-fold-report-block = 摘要块使用了 { $budget } token 中的 { $used }
plan-fold-report-no-block = 没有摘要块
plan-no-message = 没有可发送到 { $wire } 的内容：没有消息
plan-invalid = 上下文违反 { $wire } 的规则：{ $what }
plan-warnings = { $count } 条警告
plan-more-warnings = … 另有 { $count } 条同类警告
ledger-empty = 台账为空：未折叠，或该策略不保留台账
ledger-heading = 台账，按每个值相对其 token 的价值排序

## `policy`、`convert`、`check`、`tokens`

policy-warning = 警告：{ $warning }
policy-ok = { $name }：{ $count } 个阶段，有效
policy-fold-keys = 何时开始折叠，以及将上下文减到多少
convert-total = { $conversations } 个对话，{ $messages } 条消息，{ $calls } 次调用，{ $results } 个结果
check-total = { $count } 个对话，{ $invalid } 个无效
tokens-total = { $count } 个 token（{ $method }）
tokens-calls = 调用
tokens-results = 结果
tokens-thinking = 思考
tokens-images = 图片
tokens-system = 系统文本
tokens-assistant = 助手文本
tokens-user = 用户文本
tokens-framing = 消息格式开销
tokens-tools = 工具定义
tokens-other = 其他

## `config`

config-built-in = 内置
config-built-in-for = 内置，用于 { $model }
config-built-in-for-unknown = 内置，用于未知模型
config-found = 自动发现：{ $place }
config-found-on-server = 自动发现：服务器
config-not-trusted = 信任其服务器后才会询问
config-unavailable = 不可用：请运行 `waterline doctor`
config-file-missing = { $path }  （不存在）
config-no-user = 未指定用户；请使用 --user NAME 或设置 WATERLINE_USER
config-preference-set = { $user }：{ $key } = { $value }
config-preference-unset = { $user }：已删除 { $key }
