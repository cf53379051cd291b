### `waterline chat` 的命令及其回答。

## 命令说明，按 /help 的顺序

command-help = 列出命令与按键，或说明一个命令
command-status = 显示会话状态
command-current = 显示当前会话、消息数、工作区与子智能体
command-context = 显示上下文的内容；summary：已折叠消息的摘要；why N：第 N 条消息是否在其中及原因；pin N：折叠时始终保留第 N 条消息；clear：清空；undo：撤销上次折叠或清空
command-compact = 立即折叠上下文：先显示将发生的变化，再询问；FOCUS 写明要保留什么，如 /compact 未修复的错误：与之最匹配的消息保持完整，由模型写的摘要会包含它
command-config = 显示设置，或修改一项（仅本会话）
command-sessions = 列出会话
command-load = 切换到另一个会话
command-resume = 继续中断的一轮
command-fork = 在会话的分叉中继续，从此处或第 N 条消息之后
command-undo = 撤销上一轮或最近 N 轮及其更改的文件；/redo 可恢复
command-redo = 恢复上次 /undo 或 /restore 移除的内容；可多次使用
command-branches = 列出本会话的分支；给出 ID 则切换
command-checkpoints = 列出本会话的检查点
command-restore = 恢复检查点 N 的消息、状态和文件；/redo 可再次前进
command-memory = 列出、搜索或修改以后的会话会记得的内容
command-recall = 搜索本会话的全部消息
command-skill = 列出技能，启用或停用一个技能
command-tools = 列出工具及模型能否使用
command-allow-dir = 在本会话中还允许智能体访问此目录；DIR:ro 为只读
command-allow-host = 在本会话中允许命令访问此主机：crates.io、*.pypi.org、localhost:8080
command-todos = 显示任务列表
command-unfold = 完整显示第 N 个或最近一次调用（Ctrl-O）
command-artifact = 列出本会话的产物（过长的输出），或显示其中一个（从第 LINE 行起，或全部）
command-clean = 删除长期未使用的工作区和会话；先询问
command-clear = 清空上下文；不删除任何内容（/context undo 可恢复）
command-reset = 开始新会话
command-cancel = 停止当前一轮，或取消等待中的提问或批准
command-steer = 向正在进行的一轮发送消息；没有进行中的一轮时，照常发送
command-model = 显示当前及可用的模型；给出名称则切换；prefer NAME 用于新会话，prefer session NAME 用于每次打开本会话时
command-cost = 显示本会话及其子智能体的 token 用量与费用
command-export = 将本会话写入文件：JSON 行；若为 FILE.md 则为 Markdown
command-quit = 退出；会话会保留

## chat/commands/mod.rs

usage = 用法：{ $synopsis }
unknown-command = 没有命令 /{ $name }；/help 列出所有命令
unknown-command-suggestion = 没有命令 /{ $name }；是否指 /{ $suggestion }？

## chat/commands/branches.rs

branches-no-match = 没有以 { $prefix } 开头的分支，或有多个；/branches 列出分支
branches-size = { $count } 条消息（{ $shared } 条共有）
branches-interrupted = 中断的回答：{ $message }

## chat/commands/cancel.rs

cancel-done = 已取消
cancel-nothing = 没有正在进行的操作

## chat/commands/checkpoints.rs, command/sessions/checkpoints.rs

checkpoints-none = 没有检查点

## chat/commands/clean.rs

chat-clean-nothing = 没有可清理的内容
chat-clean-question = 要删除 { $what }吗？
chat-clean-workspaces = { $days } 天未使用的 { $count } 个工作区
chat-clean-sessions = { $days } 天未使用的 { $count } 个会话
chat-clean-both = { $workspaces }和 { $sessions }
chat-clean-done = 已删除
chat-clean-declined = 未删除任何内容

## chat/old_sessions.rs

old-sessions = 有 { $count } 个会话已 { $days } 天未使用；可用 /clean 或 `waterline sessions clean` 删除
old-sessions-more = { "  " }以及另外 { $count } 个
old-sessions-question = 有 { $count } 个会话已 { $days } 天未使用。要删除吗？[y/N/never]

## chat/commands/clear.rs

clear-done = 上下文已清空；所有消息仍保留，可用 /recall 查找

## chat/commands/compact.rs

compact-nothing = 没有可折叠的内容
compact-too-little = 不值得折叠：只能释放 { $before } 个 token 中的 { $freed } 个。/compact FOCUS 仍会折叠，并保留与 FOCUS 有关的内容
compact-declined = 未折叠
compact-question = 折叠吗？
compact-totals = { $before } → { $after } 个 token：{ $kept } 条消息不变{ $shortened ->
    [0] {""}
   *[other] ，{ $shortened } 条缩短
}{ $omitted ->
    [0] {""}
   *[other] ，{ $omitted } 条省略
}；不会删除任何内容
compact-row = { $messages }：{ $treatment } – { $reason }
compact-more-slots = … 另有 { $count } 项
compact-replacement = 模型将读到以下内容：
compact-summary-by-model = 摘要将由模型撰写
compact-more-lines = … 另有 { $count } 行；折叠后 /context summary 显示全部，/context why N 说明第 N 条消息的去向

## chat/commands/config.rs

setting-policy-keys = 也可设置策略的任意键：`waterline policy show 名称` 可列出
setting-other-policy = { $key } 属于策略 { $preset }，当前使用 { $policy }；可用 /config policy { $preset } 切换
setting-not-set = 未设置
setting-unknown = 没有名为 { $key } 的设置；可用的设置：{ $settings }，以及策略的键
setting-steps-invalid = agent.steps = { $value } 无效；必须是 1 到 1000 的整数
setting-conflict = 与命令行参数或配置冲突
setting-adjusted = { $key } 现为 { $value }：它必须低于 fold.high

## chat/commands/policy_keys.rs

policy-key-unknown = 没有名为 { $key } 的键；`waterline policy keys` 可列出
policy-key-suggestions = 没有名为 { $key } 的键；相近的键：{ $keys }

## chat/commands/context.rs

context-no-summary = 没有摘要
context-not-folded = 没有摘要：尚未折叠过
context-cleared = 此消息已从上下文中清空；/context undo 可恢复
context-no-message = 没有第 { $number } 条消息；/context 显示编号
context-next-call = 下次调用时原样发送
context-unchanged = 原样保留
context-why = { $treatment }（{ $tokens } 个 token）：{ $reason }
context-pinned = 已固定第 { $number } 条消息
context-fold-undone = 已撤销上次折叠
context-clear-undone = 已撤销上次清空
context-nothing-to-undo = 没有可撤销的操作：没有折叠或清空过

## chat/commands/window.rs

context-messages = { $count } 条消息：用户 { $user }，助手 { $assistant }，工具 { $tool }{ $system ->
    [0] {""}
   *[other] ，系统 { $system }
}；{ $characters } 个字符
context-tools = 工具定义
context-system-prompt = 系统提示词
context-instructions = 包含指令文件 { $files }
context-verbatim = 消息
context-free = 空闲
context-answer = 留给回答
context-older-turns = … 另有 { $count } 个更早的轮次
context-turn = 第 { $turn } 轮 [{ $message }] { $text }
context-limit-messages = 上下文中有 { $count } 条消息；超过 { $max } 条时丢弃最早的
context-limit-turns = 上下文中有 { $count } 轮；超过 { $max } 轮时丢弃最早的
context-total = { $used } 个 token；到 { $high } 时折叠；窗口：提示词 { $window }，回答 { $answer }

## chat/commands/cost.rs

cost-calls = 调用：{ $count }
cost-prompt-tokens = 提示词 token：{ $tokens }（{ $share }% 来自缓存）
cost-prompt-tokens-uncached = 提示词 token：{ $tokens }
cost-answer-tokens = 回答 token：{ $tokens }
cost-price = 费用：{ $price }
cost-price-unknown = 费用：{ $model } 的价格未知；可在配置的 [models."{ $model }"] 下设置 `price`，或把该模型写入 prices.toml
cost-price-date = （{ $model } 的价格，{ $date }）
cost-sub-agents = 其中子智能体：{ $count } 次调用，提示词 token { $prompt }，回答 token { $answers }
cost-sub-agents-price = 其中子智能体：{ $count } 次调用，提示词 token { $prompt }，回答 token { $answers }，费用 { $price }

## chat/commands/current.rs

current-id = 会话：{ $id }
current-messages = 消息数：{ $count }
current-messages-limit = 消息数：{ $count } / { $limit }
current-near-limit = 消息数：{ $count } / { $limit }（接近上限）
current-trimming = 消息数：{ $count } / { $limit }（已开始裁剪，发送 { $sent } 条）
current-workspace = 工作区：{ $path }
current-sub-agent = { $id }（{ $messages } 条消息，{ $loops } 次模型调用）{ $title }

## chat/commands/export.rs

chat-export-exists = { $path } 已存在；请选择其他名称
chat-export-done = { $path }：{ $count } 条消息

## chat/commands/fork.rs

fork-done = 已进入分叉 { $id }（第 { $position } 条消息之后）

## chat/commands/help.rs

help-keys = 按键
help-key-tab = 补全命令、@名称 和 #文件
help-key-alt-enter = 换行；行尾的 \ 也可续行
help-key-history = 调出之前输入的行；在其中搜索
help-key-ctrl-o = 完整显示最近一次调用
help-key-ctrl-c = 停止一轮；在提示符处清除该行
help-key-ctrl-d = 退出；会话会保留
help-mentions = @名称 提及工具、技能或角色；#文件、#"文件 名"、#目录/、#**/*.md 附带文件

## chat/commands/load.rs

allow-dir-which = 哪一个目录？例如 /allow-dir ~/data；只读则用 /allow-dir ~/data:ro
allow-dir-write = 本会话中，智能体可以读取和修改 { $path } 中的文件
allow-dir-read = 本会话中，智能体可以读取 { $path }
allow-host-which = 哪一个主机？例如 /allow-host crates.io
allow-host-any = 命令已可访问任何主机
allow-host-done = 本会话中，命令可以访问 { $host }
load-which = 哪一个会话？/sessions 列出会话
load-ambiguous = 有多个会话匹配，请给出更长的前缀：
load-unknown = 没有会话 { $id }；/sessions 列出会话
resume-elsewhere = 此会话在之前的目录 { $path } 中工作；--workspace here 可将其移到当前目录
resume-remembered = 继续使用此会话之前所用的 { $model }（{ $address }）；可用 --model 或 --base-url 另选
resume-offline-question = 中断的一轮由 { $model } 开始，而该模型现在不可用。让离线模型接着完成吗？
resume-kept-open = 该轮保持中断。用 /model NAME 选择模型，再用 /resume 继续
resume-gone = 此会话之前工作的目录 { $path } 已不存在
chat-also-open = 另一个聊天也打开了此会话；同一时间只有一个可以工作
load-done = 已加载会话：{ $id }

## chat/commands/memory.rs

memory-off = 未启用记忆。可用 --memory 目录 或配置中的 `memory = true` 启用
memory-empty = 还没有记忆。/memory add TEXT 可添加一条
memory-no-match = 记忆中没有匹配的内容
memory-added = 已添加，以后的会话都会知道
memory-known = 记忆中已有这一条
memory-replaced = 已替换：{ $earlier }
memory-forgotten = 已忘记：{ $fact }
memory-secret = 未写入记忆：内容可能含有密钥或密码
memory-not-regular = 记忆文件 { $path } 不是普通文件；移走后会新建一个
memory-too-large = 记忆文件 { $path } 超过 4 MB；请缩短
memory-busy = 另一个程序不断更改 { $path }；请稍后重试
memory-nothing = 没有要记住的内容：请写在 /memory add 之后
memory-no-such =
    { $count ->
        [0] 没有第 { $number } 条；记忆为空
        [1] 没有第 { $number } 条；只有 1 条记忆
       *[other] 没有第 { $number } 条记忆；编号从 1 到 { $count }
    }
memory-instructions = 长期要求
memory-preferences = 偏好
memory-facts = 事实
memory-superseded = 已被取代
memory-found-superseded = 已被取代，{ $day }
memory-newest = 每日记忆的最新内容
memory-day = （{ $day }）
memory-source = { $message ->
    [0] （{ $day }，会话 { $session }）
   *[other] （{ $day }，会话 { $session }，第 { $message } 条消息）
}
memory-recognized = 已记住，以后的会话也适用（/memory forget 可删除）：{ $text }
memory-recognized-replaced = 已记住，以后的会话也适用（/memory forget 可删除）：{ $text }——取代：{ $earlier }
memory-rule-left-out = 长期要求太多：不再把这一条发给模型（/memory forget N 可删除一条）：{ $text }
memory-template = 不再记住：您在三个以上的会话中发送过这句话，像是模板的一部分（写入 MEMORY.md 可保留）：{ $text }
memory-recognized-session = 在本会话中保留：{ $text }
memory-review =
    { $count ->
       *[other] 本会话学到的内容（/memory forget N 可删除）：
    }

## chat/commands/model.rs

model-changed = 现在使用 { $name }
model-current = { $name }（{ $window } 个 token）
model-not-listed = { $address } 的模型列表中没有 { $model }；聊天中用 /model 列出现有模型
model-list-server = { $url } 上：{ $names }
model-list-config = 配置中：{ $names }
model-preferred = 新会话使用 { $name }，除非 --model 指定其他模型
model-preferred-none = 没有首选模型；用 /model prefer NAME 设置
model-preferred-set = 新会话现在使用 { $name }，除非 --model 指定其他模型
model-preferred-removed = 已删除首选模型
model-preferred-here = 打开本会话时使用 { $name }，除非 --model 指定其他模型
model-preferred-here-none = 本会话没有首选模型；用 /model prefer session NAME 设置
model-preferred-here-unknown = 配置的 [models] 下没有 { $name }；会话只能首选其中描述的模型

## chat/commands/recall.rs

recall-no-match = 本会话中没有匹配的内容
recall-words = 匹配：{ $words }
recall-neighbor = 与匹配的消息相邻
recall-session = 所在会话匹配
recall-speaker = 出自所提到的人
recall-date = 来自所提到的日期
recall-instruction = 长期要求
recall-preference = 偏好
recall-meaning = 意思相近

## chat/commands/redo.rs

redo-nothing = 没有可重做的内容

## chat/commands/reset.rs

reset-done = 新会话 { $id }

## chat/commands/resume.rs

resume-nothing = 没有可继续的内容：上一轮已完成

## chat/commands/sessions.rs

chat-sessions-session = 会话
chat-sessions-messages = 消息数
chat-sessions-used = 最近使用
chat-sessions-model = 模型
chat-sessions-title = 标题
chat-sessions-more = … 另有 { $count } 个；`waterline sessions list --all` 全部列出
chat-sessions-elsewhere = 其他目录：
chat-sessions-here = 这里：

## chat/commands/skill.rs

skill-none = 没有技能；将含 SKILL.md 的目录放入 .waterline/skills
skill-not-active = 没有启用的技能
skill-off = 技能 { $id } 已停用
skill-unknown = 没有技能 { $name }；/skill 可列出
skill-on = 技能 { $id } 已启用：每条消息都会提醒模型；/skill off 停用

## chat/commands/status.rs

status-session = 会话
status-model = 模型
model-origin-fallback = 后备模型
model-origin-role = 由角色指定
model-origin-flag = 由 --model 指定
model-origin-command = 用 /model 选择
model-origin-preferred = 首选
model-origin-automatic = 自动选择
status-policy = 策略
status-role = 角色
status-skill = 技能
status-turn = 上一轮
status-run = 运行 ID
status-mentions = 提及
status-uploads = 上传
status-turn-question = 等待您的回答：{ $question }
status-turn-approval = 等待您批准 { $tool }
status-turn-interrupted = 已中断；/resume 继续
status-turn-finished = 已完成
status-context = 上下文
status-context-tokens = { $used } 个 token；到 { $high } 时折叠（{ $level }）
status-window = 窗口
status-window-tokens = 提示词 { $prompt } 个 token，回答 { $answer } 个（{ $source }）
window-source-setting = 已设置
window-source-server = 由服务器报告
window-source-learned = 由 { $address } 的服务器拒绝请求时得知；可用 --window 另设
window-source-guess = 猜测值；用 --window 设置
status-folds = 折叠
status-approval = 批准
status-commands = 命令
status-commands-sandboxed = 由内核隔离
status-commands-unconfined = 未隔离（{ $why }）
status-network = 网络
status-network-on = 命令可用
status-network-unconfined = 命令可用：它们未被隔离
status-network-off = 命令不可用
status-directory = 工作目录
status-network-hosts = 命令可以访问 { $hosts }
status-workspace = 工作区
status-grants = 授权目录
status-failed-hooks = 失败的钩子
status-violations = 违反规则
level-normal = 正常
level-info = 提示
level-warning = 警告
level-critical = 严重

## chat/commands/steer.rs

steer-empty = 没有可发送的内容。一轮进行时，输入的任何行都会作为补充发送

## chat/commands/tools.rs

tier-discovered = 未启用
tier-enabled = 可间接调用
tier-visible = 可用
tiers-legend = 未启用：提及后才可用；可间接调用：通过 call_tool 调用；可用：在模型的工具列表中
tool-ask-human = 向您提问并等待回答
tool-call-subagent = 将任务委派给有独立上下文的子智能体
tool-call-tool = 调用不在模型列表中的工具
tool-compact-context = 在下一次调用前折叠上下文
tool-describe-tool = 说明提示词中只列出名称的工具
tool-edit-file = 替换文件中的文本
tool-fetch-url = 以纯文本获取网页
tool-find-files = 按通配符查找文件
tool-hand-off = 将工作移交给另一个角色
tool-list-files = 列出目录
tool-now = 返回日期和时间
tool-read-artifact = 读取被截断的长输出
tool-read-file = 读取文本文件或图片
tool-recall = 搜索会话和记忆
tool-run-bash-command = 在沙箱中运行 bash 命令
tool-search-files = 用正则表达式搜索文件
tool-todo-read = 返回任务列表
tool-todo-write = 写入任务列表
tool-write-file = 创建或覆盖文件

## chat/commands/todos.rs

todos-none = 没有待办任务

## chat/commands/undo.rs

undo-count = { $before } → { $after } 条消息
undo-turn = 已撤销：{ $message }
undo-turns = 已撤销，自此起：{ $message }
undo-note = /redo 可恢复消息和文件

## chat/files.rs, moved_files.rs

files-overwrite = 智能体修改 { $path } 之后您又改过它。要覆盖您的修改吗？
files-delete = 智能体创建 { $path } 之后您又改过它。要连同您的修改一起删除吗？
files-overwrite-all = 智能体修改 { $paths } 之后您又改过它们。要覆盖您的修改吗？
files-unreachable = 无法执行：本次聊天不能修改 { $paths }。没有做任何更改。请用 /allow-dir 授权该目录，或在那里启动聊天
files-not-moved = 文件未更改；--files 可同时恢复文件
files-no-workspace = 会话 { $id } 在本机没有工作区，无法恢复其文件
files-restored = 已恢复 { $paths }
files-removed = 已删除 { $paths }
files-in-part = 已恢复到您的版本：{ $paths }
files-kept = 在会话之外被修改过，保持不变：{ $paths }
files-too-large = 未恢复，因为更改过大而未记录：{ $paths }
files-not-recorded = 未恢复，因为被忽略的文件和生成的文件不作记录：{ $paths }
files-repository = 未撤销：命令在 { $paths } 中所做的操作（例如提交）
files-links = 未恢复，因为符号链接不作记录：{ $paths }
files-failed = 未恢复：{ $path }：{ $why }

## chat/commands/artifact.rs

artifact-none = 没有产物：本会话的输出都没有超出上下文的长度
artifact-unknown = 本会话中没有以 { $id } 开头的产物，或有多个；/artifact 可列出
artifact-size = { $bytes } 字节
artifact-more = … 还有 { $count } 行；/artifact { $id } { $next } 继续，/artifact { $id } all 显示全部

## chat/commands/unfold.rs

unfold-none = 还没有调用
unfold-no-such = 没有第 { $number } 个调用；每次调用的末尾有编号，如 [3]

## chat/ending.rs

ending-limit = 提前结束：{ $why }（{ $setting }）。发送一条消息即可继续；/config { $setting } 显示该上限
ending-limit-question = 提前结束：{ $why }（{ $setting }）。继续吗？
ending-continue = 请继续。
ending-question = 您的下一条消息就是回答。

## chat/gauge.rs

gauge-fill = { $used } / { $high }
gauge-fill-window = { $used } / { $high }（{ $window }）
gauge-cache = 缓存 { $share }%

## chat/greeting.rs

greeting = 会话 { $id }，模型 { $model }。/help 列出命令，Ctrl-C 停止一轮，Ctrl-D 退出。
list-comma = 、
list-or = { $first } 或 { $last }
greeting-offline = 未连接语言模型。请设置 { $keys }，或启动本地服务器；详见 docs/models.md，可用 waterline doctor 检查设置。
greeting-private = 智能体在私有目录中工作。输入 #文件名 可附带文件；用 --workspace here 启动可让它在此目录工作。
greeting-instructions = 指令文件：{ $files }
greeting-here = 智能体在 { $path } 中工作。用 --workspace private 启动可让它在自己的私有目录中工作。
greeting-write = 智能体在 { $path } 中工作。还可读写 { $write }。
greeting-read = 智能体在 { $path } 中工作。还可读取 { $read }。
greeting-write-read = 智能体在 { $path } 中工作。还可读写 { $write }，读取 { $read }。
greeting-memory =
    { $count ->
       *[other] 记住了 { $count } 条事实；/memory 可查看。
    }
replay-calls = { $count } 次调用；/unfold N 显示第 N 次调用的全部内容
replay-more-lines = ……还有 { $count } 行
greeting-resume = 继续此会话：{ $command }
greeting-cost = 此会话费用：{ $price }。
window-learned = { $model }：提示词上限 { $window } 个 token，由 { $address } 的服务器拒绝请求时得知。一天后失效；也可用 --window 立即另设。
window-guess = { $model }：上下文窗口大小未知，提示词的 { $window } 个 token 是猜测值。请用 --window 设置实际值，或在配置的 [models."{ $model }"] 下设置 `window`。

## chat/mod.rs

chat-resuming = 继续中断的一轮
reply-all = 全部
chat-answer-hint = 请回答 y 或 n。方向键可找回不是回答的那一行。
chat-how-to-quit = 再按一次 Ctrl-C 退出，或使用 Ctrl-D 或 /quit
chat-session-changed = 另一个进程继续了此会话；已读入新的消息
chat-stopped = 已停止；此前的消息和结果都已保留
chat-retry = /resume 可重试

## mentions.rs

mention-tool = 本会话已允许工具 { $name }；/tools 可查看
mention-skill = 技能 { $id } 仅用于本条消息；/skill { $id } 可持续使用
mention-unknown = 没有名为 @{ $name } 的工具、技能或角色
mention-is-file = @{ $name } 是文件，不是工具、技能或角色；用 #{ $name } 可附加该文件
mention-attached = 已附带：{ $files }
mention-attached-more = 已附带：{ $files }，另有 { $more } 个
mention-not-found = #{ $name }：未找到文件
mention-too-many = #{ $name }：文件超过 { $most } 个；已附带前 { $most } 个
mention-link = { $path }：未附带：它是指向 { $target } 的链接；要附带该文件，请直接写出它的路径
mention-not-regular = { $path }：未附带：不是普通文件
mention-send-without = 不带该文件发送这条消息吗？
mention-not-sent = 消息未发送，因为无法附带该文件
mention-too-large = { $path }：文件过大：{ $size }，上限为 { $most }
mention-no-images = { $path }：模型不接受图像；只发送文件名

## trust.rs

trust-not-approved = 尚未批准；请在终端中启动以确认，或用 --trust-project 仅为本次批准
trust-refused = 未批准；请从 waterline.toml 中删除该地址，或在其他目录启动
trust-not-stored = { $error }；下次会再次询问
trust-question =
    您所写的和智能体所读取的内容都会发送到那里。
    批准吗（此后对此目录有效）？[y/n]
answer-yes-or-no = 请回答 y 或 n
trust-unreadable = 无法读取回答
place-question =
    智能体可以在 { $path } 中工作：读取其中的文件，修改前会先询问。
    以后都让它在此目录工作吗？[y/n]

## input.rs

input-empty = { $name }：第 1 行第 1 列：输入为空
input-not-utf8 = { $name }：第 { $line } 行第 { $column } 列：不是 UTF-8
