### `waterline doctor`。

doctor-config = 配置
doctor-config-ok = 有效
doctor-database = 数据库
doctor-database-ok = { $url }，{ $count } 个会话
doctor-sandbox = 沙箱
doctor-sandbox-ok = 内核将命令限制在 { $path } 下的工作区内
doctor-sandbox-none = { $why }；每条命令执行前都会询问
doctor-set = 已设置
doctor-not-set = 未设置
doctor-local = 本机服务
doctor-local-found = { $model }，地址 { $url }，窗口 { $window }
doctor-local-guess = { $model }，地址 { $url }；它没有报告窗口，{ $window } 个 token 是猜测值：请用 --window 设置实际值
doctor-local-none = 常用端口上没有
doctor-model = 模型
doctor-model-window = { $model }，提示 { $window } 个 token，价格未知
doctor-model-price = { $model }，提示 { $window } 个 token，每百万提示与回答 token 为 ${ $input } 与 ${ $output }
doctor-model-built-in = { $model }：内置
doctor-model-answers = { $model } 回答：{ $answer }
doctor-model-timeout = { $model }：{ $seconds } 秒内没有回答
doctor-untrusted = 未检查：waterline.toml 中的 { $addresses } 尚未受信任；在此目录运行 `waterline chat` 可确认
doctor-fallback = 后备模型
doctor-tools = { $count } 个工具
doctor-agent = 代理
doctor-agent-ok = 中间件：{ $middleware }；规则：{ $rules }
doctor-skills = 技能
doctor-roles = 角色
