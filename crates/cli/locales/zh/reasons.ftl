### 折叠的原因和处理消息的原因。

reason-over-window = { $tokens } 个 token 超过提示词可用的 { $window } 个
reason-over-high-mark-cold = { $tokens } 个 token 超过高水位 { $high }；缓存已失效，此时折叠代价小
reason-over-high-mark = { $tokens } 个 token 超过高水位 { $high }
reason-many-messages = { $messages } 条消息超过 { $max }
reason-every-turn = 该策略每一轮都会考虑折叠
reason-many-turns = { $turns } 轮超过 { $max }
reason-requested = 用户要求
reason-summary-ready = 后台摘要已就绪
reason-restarted = 重启后继续会话
reason-rejected = 服务商拒绝了 { $tokens } 个 token；假定窗口为 { $window } 个 token
reason-folded = 已折叠
reason-folded-harder = 已折叠；长文本已截断，只保留少数轮次
reason-folded-most = 已折叠到任务、固定消息、摘要和最新消息
reason-folded-turns = 保留最近的轮次，只含请求和回答
reason-not-enough = 之前的折叠释放不足，因此
reason-system-prompt = 系统提示词
reason-with-summary = 摘要在其前面
reason-listed-again = 先前折叠列出的值，保持不变以继续命中缓存
reason-listed-for-later = 供之后的折叠继续列出的值，保持不变以命中缓存
reason-task = 任务
reason-task-truncated = 任务；中间已截断
reason-pinned = 已固定
reason-pinned-truncated = 已固定，但已截断：上下文放不进窗口
reason-opens-turn = 部分保留的最早一轮的开头
reason-opens-turn-truncated = 部分保留的最早一轮的开头；中间已截断
reason-over-low-mark = 超过低水位
reason-older-than-tokens = 早于放得下的最新 token
reason-older-than-turns = 早于最近 { $turns } 轮
reason-older-than-restart = 早于重启前的最近 { $turns } 轮
reason-older-than-steps = 早于最近 { $steps } 步
reason-older-than-messages = 早于最近 { $messages } 条消息
reason-steps-too-long = 最近 { $steps } 步太长：保留其中 { $keep } 步
reason-part-of-step = 此步只放得下一部分；中间已截断
reason-only-user = 只保留用户的消息
reason-only-newest = 只保留任务、固定消息和最新消息
reason-oldest-half = 去掉了较早的一半轮次
reason-running-turn = 当前轮太长：去掉了较早的步骤
reason-earlier-fold = 之前的折叠已去掉
reason-step-of-turn = 较早轮次的一步；其请求和回答保留
reason-text-of-step = 较早轮次一步的文本，不含其调用
reason-does-not-fit = 上下文放不进窗口
reason-does-not-fit-turns = 上下文放不进窗口：只保留最近 { $turns } 轮
reason-does-not-fit-system = 上下文放不进窗口；只保留系统提示词
reason-does-not-fit-truncated = 已截断，因为上下文放不进窗口
reason-too-large = 大于窗口；中间已截断
reason-no-result = 其中一个调用没有结果
reason-interrupted = 没有结果的调用按“已中断”处理
reason-late-result = 在其调用按“已中断”处理之后才到达
reason-late-part = 在该步其余部分发送之后才到达
reason-repaired = 已修复，见警告
reason-orphan = 没有对应调用的结果
reason-only-thinking = 没有回答的思考
reason-empty = 空消息
reason-no-thinking = 不含其思考
reason-preview = 长结果的预览
reason-cleared = 旧的工具结果已清除
reason-image-seen = 已看过的图片已移除
reason-results-truncated = 超过 { $characters } 个字符的结果已截断
reason-output-truncated = 超过 { $tokens } 个 token 的输出在中间截断
reason-same-as = 与第 { $message } 条消息相同
reason-same-as-prompt = 与系统提示词相同
reason-quoted = 在最新的用户消息中引用
reason-recalled-one = 附 1 段召回内容
reason-recalled = 附 { $passages } 段召回内容
reason-ledger-only = 下面截断文本的台账，{ $ledger } 个 token
reason-ledger-of-one = 1 条消息变为 { $ledger } 个 token 的台账
reason-ledger = { $messages } 条消息变为 { $ledger } 个 token 的台账
reason-digest-of-one = 1 条消息变为 { $tokens } 个 token 的摘要
reason-digest-of-one-ledger = 1 条消息变为 { $tokens } 个 token 的摘要和 { $ledger } 个 token 的台账
reason-digest = { $messages } 条消息变为 { $tokens } 个 token 的摘要
reason-digest-ledger = { $messages } 条消息变为 { $tokens } 个 token 的摘要和 { $ledger } 个 token 的台账
reason-summary-of-one = 1 条消息变为 { $tokens } 个 token 的模型摘要
reason-summary-of-one-ledger = 1 条消息变为 { $tokens } 个 token 的模型摘要和 { $ledger } 个 token 的台账
reason-summary = { $messages } 条消息变为 { $tokens } 个 token 的模型摘要
reason-summary-ledger = { $messages } 条消息变为 { $tokens } 个 token 的模型摘要和 { $ledger } 个 token 的台账
reason-and = ；
reason-then = ：

## Why a call needs approval (agent/src/approval).

approval-risk = { $level ->
    [low] 低
    [medium] 中
    [high] 高
   *[critical] 极高
}风险：{ $why }
approval-every-call = 每次调用都需要批准
approval-rule = 你的规则要求批准
approval-first-change = 这是第一次更改 { $paths } 中的文件
approval-command-change = 命令可以更改 { $paths } 中的文件
approval-unparsed = 无法完整解析为 shell 脚本
approval-unsandboxed = 此系统上命令不在沙箱中运行
approval-protected = 更改程序会自动运行或读取的文件：{ $paths }
approval-own-directories = 只在代理的目录内
approval-sandboxed = 命令在沙箱中运行
approval-network = 连接服务器或网络
approval-hand-off = 由另一个角色接手
approval-asks-user = 只询问用户
approval-delegates = 子代理遵守同样的规则

## The risks of agent/presets/risks.toml, by id.

risk-accesses-keys = 访问密钥或密码
risk-changes-automatic-file = 更改程序会自动运行或读取的文件
risk-changes-owner = 更改整个目录的所有者
risk-changes-services = 更改计划任务或服务
risk-connects-to-machine = 连接到另一台机器
risk-deletes-database = 删除数据库中的数据
risk-deletes-directories = 删除目录及其所有文件
risk-deletes-file-system = 删除整个文件系统或主目录
risk-deletes-found-files = 删除找到的每个文件
risk-deletes-given-files = 删除给定的每个文件
risk-destroys-files = 不可恢复地销毁文件
risk-discards-work = 丢弃工作成果
risk-fork-bomb = 这是 fork 炸弹
risk-installs-packages = 安装软件包
risk-installs-programs = 安装或移除程序
risk-kills-processes = 终止其他进程
risk-makes-writable = 使文件对所有人可写
risk-mentions-automatic-file = 涉及程序会自动运行或读取的文件
risk-overwrites-disk = 覆盖磁盘
risk-publishes = 发布内容
risk-runs-as-user = 以其他用户身份运行
risk-runs-network-code = 运行来自网络的代码
risk-runs-output = 运行另一条命令的输出
risk-shuts-down = 关闭或重启机器
