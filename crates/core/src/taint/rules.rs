//! The rules: patterns of instructions to an agent, by what they try.

use std::sync::{LazyLock, OnceLock};

use aho_corasick::AhoCorasick;
use regex_automata::{Anchored, Input, meta::Regex, util::syntax};
use regex_syntax::{ParserBuilder, hir::literal::Extractor};

use super::Flag;

/// A pattern over [`super::script::plain`] text. `~` stands for up to five words of the same sentence; a blank
/// matches any run of blanks and line ends.
#[cfg_attr(test, derive(Debug, PartialEq))]
pub(super) struct Rule {
    pub flag: Flag,
    /// How much a match says; two points are enough.
    pub points: u32,
    pattern: &'static str,
}

/// A rule for what no note has a reason to say.
const fn strong(flag: Flag, pattern: &'static str) -> Rule {
    Rule { flag, points: 2, pattern }
}

/// A rule for what notes say occasionally.
const fn weak(flag: Flag, pattern: &'static str) -> Rule {
    Rule { flag, points: 1, pattern }
}

/// All rules. A match is a reason to look twice, not a proof.
#[rustfmt::skip]
const RULES: &[Rule] = &[
    // Override.
    strong(Flag::Override, r"\b(?:ignore|disregard|forget|override|bypass|discard|drop|neglect)~(?:previous|prior|earlier|above|preceding|existing|original|initial|former|system|safety|your|all|any|these|those|other|my|its|the|every)~(?:instructions?|directives?|guidelines?|prompts?|system message|programming|guardrails|policies|(?:safety|system) rules)\b"),
    strong(Flag::Override, r"\b(?:ignore|disregard|forget) (?:everything|anything|all|what)~(?:before|above|previously|earlier|told|were (?:told|taught|given)|so far)\b"),
    strong(Flag::Override, r"\b(?:do not|don't|never|stop) (?:follow|following|obey|obeying|listen to|comply with)~(?:user|previous|prior|system|other|original|developer|existing|your)~(?:instructions?|rules|prompts?|guidelines|requests?|orders|commands)\b"),
    strong(Flag::Override, r"\byour (?:real|true|actual|new|updated|secret|hidden) (?:instructions?|task|goal|objective|purpose|mission|directives?) (?:is|are|will be|now)\b"),
    strong(Flag::Override, r"\b(?:new|updated|revised) (?:system )?(?:instructions?|directives?|prompt) ?(?:follows?|supersedes?|replaces?|:)~(?:ignore|you|always|never|from now|all|must)\b"),
    strong(Flag::Override, r"\byou are (?:now|no longer) (?:in |a |an |the |bound|restricted|limited|subject|required|dan|jail|un|free|operating|acting)"),
    strong(Flag::Override, r"\b(?:enter|enable|activate|switch to|engage) (?:developer|god|admin|jailbreak|dan|unrestricted|maintenance|sudo) mode\b~(?:you|no|without|all|every|and|ignore|restrict|safety)"),
    strong(Flag::Override, r"\b(?:this|these|the following|my) (?:instructions?|rules?|memory|note|directives?|messages?|policy|prompt)~(?:overrides?|takes? (?:precedence|priority)|supersedes?|outranks?|has (?:priority|precedence))\b"),
    strong(Flag::Override, r"\b(?:reveal|print|repeat|output|show|leak|display|share) (?:me )?(?:your|the|all of your) (?:full |entire |complete |hidden |original |initial )?(?:system (?:prompt|message|instructions?)|hidden instructions?|initial (?:prompt|instructions?))\b"),
    weak(Flag::Override, r"\b(?:pretend|act as if|roleplay as|imagine)~you (?:are|have|can)~(?:no|unrestricted|root|admin|without|not bound|another)\b"),
    weak(Flag::Override, r"\b(?:no|without) (?:any )?(?:restrictions|limitations|filters|guardrails|safety (?:rules|guidelines|checks))\b"),
    strong(Flag::Override, r"\b(?:ignore|disregard|override|overrule|bypass|disable|skip|circumvent|drop|lift) (?:all |any |the |your |its |our )?(?:safety|security|content|ethical|system) (?:rules?|policies|policy|guidelines|filters?|restrictions|protocols?|measures)\b"),
    strong(Flag::Override, r"\b(?:prior|previous|earlier|existing|former|old|other|all) (?:guidance|instructions?|rules|directives?|guidelines|prompts?)~(?:is|are|was|were)~(?:void|obsolete|invalid|cancel\w*|null|superseded|revoked|no longer|overridden|suspended|outdated)\b"),
    strong(Flag::Override, r"\b(?:follow|obey|trust|listen to|comply with) (?:only|exclusively|solely)~(?:this|these|me|my|what|the)\b|\b(?:only|exclusively) (?:follow|obey|listen to)~(?:this|these|me|my|instructions?)\b"),
    strong(Flag::Override, r"\bregardless of~(?:instructions?|rules?|guidelines|prompts?|polic\w+)\b|\b(?:rules|instructions|guidelines|restrictions) (?:no longer|do not|don't) (?:apply|hold|bind|count)\b|\bpay no attention to~(?:instructions?|rules|told|said|guidelines|prompts?)\b"),
    weak(Flag::Override, r"\b(?:hidden|secret|new|additional|special|updated|priority|urgent) (?:instruction|directive|order)s?\b"),
    // The same in other languages.
    strong(Flag::Override, r"\b(?:ignorier\w*|vergiss|vergessen sie|missachte\w*)~(?:vorherig\w+|bisherig\w+|vorangegangen\w+|vorig\w+|obig\w+|fr(?:ü|ue)heren)~(?:anweisung\w*|instruktion\w*|befehle?n?|regeln|vorgaben|prompts?)\b"),
    strong(Flag::Override, r"\b(?:ignor(?:e|ez|er|a|ar|ad|en)|oubli(?:e|ez|er)|olvid(?:a|e|ar|ad)|desconsider\w+|esque(?:ç|c)a|dimentica\w*)~(?:instru(?:c|ç|z|k)\S+|consignes|istruzioni|directives?|(?:ó|o)rdenes)~(?:pr(?:é|e)c(?:é|e)dent\w+|anterior\w*|previ[ao]s|pr(?:é|e)vias|preceden\w+)\b"),
    strong(Flag::Override, r"(?:忽略|无视|忘记|無視)[^\n]{0,48}(?:之前|以上|先前|前面|上述)[^\n]{0,48}(?:指令|指示|说明|提示|规则)|(?:以前|これまで|上記|前)の[^\n]{0,48}(?:指示|命令)を(?:すべて|全て)?(?:無視|忘れ)"),
    // Role marks, and words of authority.
    strong(Flag::Role, r"<\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id|eot_id|begin_of_text)"),
    strong(Flag::Role, r"(?:^|\n)\W{0,4}\[?(?:system|admin|developer|root)(?: (?:message|prompt|override|notice|note|instruction|alert|update))?\]?\W{0,3}:\W{0,3}(?:you|ignore|disregard|override|forget|always|never|from now|new|the user|all|do not|don't|execute|run|must|disable|urgent|important|this)\b"),
    strong(Flag::Role, r"\b(?:system|admin|root|security) override\b~(?:code|:|accepted|granted|engaged|enabled|active|you|ignore|all)"),
    strong(Flag::Role, r"(?:\[/?inst\]|<</?sys>>|</?(?:system|system-reminder|system_prompt|assistant|user_query|human|tool_result|function_results?|cerebro-context)>)\W{0,4}(?:you|ignore|always|never|the user|do not|from now|run|execute|approved?|new|must|important|disable|send|trust)\b"),
    strong(Flag::Role, r"\b(?:this is|message from|i am|i'm|on behalf of|by order of) (?:the |your |a )?(?:system administrator|anthropic|openai|google deepmind|your developers?|your creators?|ai safety team|security team|platform team|system operator|the developer)~(?:you|must|need|require|instruct|authori[sz]|order|please|have to|run|all)"),
    strong(Flag::Role, r"<!--[^>]{0,80}\b(?:ai|assistants?|agents?|llm|model|claude|copilot|gpt|ignore|instructions?|you must)\b[^>]{0,200}(?:-->|$)"),
    weak(Flag::Role, r"(?:\[/?inst\]|<</?sys>>|</?(?:system|system-reminder|system_prompt|assistant|user_query|tool_result|function_results?)>|#{2,4} ?(?:system|instruction)s? ?:)"),
    weak(Flag::Role, r"(?:^|\n)\W{0,4}(?:human|user|assistant|system) ?:[^\n]{0,400}\n+\W{0,4}(?:assistant|system) ?: ?(?:sure|okay|ok|understood|i will|yes)"),
    weak(Flag::Role, r"\b(?:attention|note|message|instructions?|notice|important|reminder|hint|warning)~(?:to|for)? ?(?:all |any |the |every )?(?:ai|llm|language model|coding|automated)[ -]?(?:agents?|assistants?|models?|systems?|reviewers?|bots?)?\b ?[:,!-]"),
    weak(Flag::Role, r"\b(?:user|admin|administrator|owner|developer|maintainer|security team|operator|management) (?:has |have |had )?(?:already |fully |explicitly )?(?:pre-?)?(?:approved|authori[sz]ed|consented to|signed off on|granted~(?:permission|access|consent)|confirmed)~(?:all|this|any|every|these|future|full|without|it)\b"),
    strong(Flag::Role, r"\b(?:consider|treat|regard|recogni[sz]e|accept)\b[^\n]{0,60}\b(?:(?:as |is |an? |the |be )(?:administrator|admin|root|superuser|owner)\b|as if (?:it|they|he|she) (?:came|come|comes|were|was) from (?:the |a |your )?(?:user|system|developer|owner|admin))"),
    weak(Flag::Role, r"(?:^|\n)\W{0,4}\[?(?:system|developer|administrator)(?: (?:message|prompt|note|notice|instruction))?\]? ?:"),
    strong(Flag::Role, r"\b(?:i|we|admins?|administrators?|developers?|owners?|operators?|system)~(?:authori[sz]e|permit|allow|instruct|order) you to (?:skip|bypass|ignore|disable|override|delete|approve|run)\b|\byou have (?:full )?(?:permission|authority|clearance) to (?:skip|bypass|ignore|disable|override)\b"),
    weak(Flag::Role, r"\b(?:message|note|order|instruction|request|directive)s? from (?:the |your )?(?:system|developers?|admin(?:istrator)?|operator|owner|security team|vendor|management)\b"),
    weak(Flag::Role, r"\b(?:as|i am|i'm) (?:the|your) (?:project owner|administrator|admin|developer|creator|operator|system)\b"),
    // Concealment.
    strong(Flag::Concealment, r"\b(?:do not|don't|never|avoid|must not|should not|shouldn't|without|no need to|refrain from|not) (?:ever |explicitly |even )?(?:tell|telling|inform|informing|mention|mentioning|reveal|revealing|disclos(?:e|ing)|notify|notifying|alert|alerting|warn|warning|report|reporting|show|showing|ask|asking|let|letting|say|saying|consult|consulting)~(?:the |this to |it to |to )?(?:user|human|owner|operator|person|anyone|anybody|developer|victim|customer|reviewer|them about)s?\b"),
    strong(Flag::Concealment, r"\b(?:hide|conceal|keep|withhold|mask)~(?:from|unknown to) (?:the |any |all )?(?:user|human|owner|operator|developer|reviewer|auditor|admin)s?\b"),
    strong(Flag::Concealment, r"\b(?:the )?(?:user|human|operator|owner|reviewer)s? (?:must|should|can|may|need|does|do)(?: ?not|n't| never)~(?:know|learn (?:of|about)|find out|(?:see|notice) (?:this|it|that|these|any)|be (?:told|informed|aware|asked|notified|warned))\b"),
    strong(Flag::Concealment, r"\bwithout (?:the )?(?:user|human|owner|operator)(?:'?s)? ?(?:knowledge|noticing|knowing|consent|approval|awareness|confirmation|permission)\b"),
    weak(Flag::Concealment, r"\b(?:silently|secretly|covertly|quietly|stealthily|discreetly|surreptitiously) (?:and \w+ )?(?:add|send|execute|run|upload|install|copy|forward|include|insert|append|post|exfiltrate|transmit|collect|record|change|modify|replace|approve|disable|remove|commit|push|write|create|inject)"),
    weak(Flag::Concealment, r"\b(?:keep (?:this|it|these)~(?:secret|hidden|confidential|between us|to yourself)|do not (?:log|mention|document|record|include|acknowledge|output) (?:this|it|these)~(?:instruction|step|action|command|rule|note|memory|anywhere|in (?:the|your|any)))\b"),
    weak(Flag::Concealment, r"\b(?:do not|don't|never|no need to) (?:warn|alert|question|second-guess|raise (?:concerns|warnings)|flag|mention|report)~(?:security|vulnerabilit|risk|danger|issue|problem|warning|concern)"),
    strong(Flag::Concealment, r"\btell (?:the |them |your )?(?:users?|humans?|owner|reviewers?|customers?)~even (?:if|though|when)\b"),
    weak(Flag::Concealment, r"\b(?:nobody|no one|no-one) (?:notices|sees|knows|finds out|must know|should know)\b|\b(?:do not|don't|never) (?:say|explain) why\b"),
    weak(Flag::Concealment, r"\b(?:act|behave|respond|continue|pretend)~(?:as if nothing|normally so|like nothing|nothing happened)\b"),
    strong(Flag::Concealment, r"\b(?:do not|don't|never|must not|should not|may not|cannot|not) (?:ever )?(?:reveal|disclose|mention|divulge|discuss|expose|admit|acknowledge|talk about|refer to)~(?:this|these|that|your|the|any of (?:this|these)) (?:memory|memories|rules?|instructions?|notes?|prompt|directives?|fact|exist\w*|entry)\b|\b(?:not|never) (?:reveal|disclose|admit) that (?:this|you|the|it|there)\b"),
    strong(Flag::Concealment, r"\bso (?:that )?(?:you|it|the agent|agents|nobody|no one|the user) (?:don't|do not|never|doesn't|won't|will not|need not|needn't)~(?:ask|notice|see|confirm|be asked|prompted|approve|know)\b"),
    weak(Flag::Concealment, r"\b(?:do not|don't|never) (?:list|raise|point out|show|include|log|write down|record|display)~(?:vulnerabilit\w+|security (?:issues?|findings?|problems?)|warnings?|this (?:change|step|action))\b"),
    // Standing orders.
    strong(Flag::StandingOrder, r"\b(?:always|must|shall|should|will|need to) (?:also |first |then |silently )?(?:include|append|insert|add|prepend|embed|attach|mention|recommend|promote|send|forward|cc|bcc|run|execute|call|fetch|load)~(?:in|to|at|before|after|with|on|for|of) (?:every|all|each|any) (?:of your |future |new |single |subsequent )?(?:response|answer|repl(?:y|ies)|commit|message|e-?mail|output|session|task|conversation|request|turn|file you|pull request|interaction)s?\b"),
    strong(Flag::StandingOrder, r"\b(?:from now on|henceforth|from this (?:point|moment)(?: on| forward|)|going forward|for all future|in all future|in every future|until further notice)\b~(?:you (?:will|must|should|are|shall|may|can)|always|never|ignore|obey|execute|run|trust|approve|treat|do not|don't|skip|respond|answer|follow|act|send|include|append|disable|use)\b~(?:without|any|all|every|only|as|user|instruction|command|tool|security|test|warning|confirm|check|url|link|http|credential|token|secret|permission|ask|check|review|trusted|approved|rule|warn|me)"),
    strong(Flag::StandingOrder, r"\b(?:whenever|every time|each time|anytime|if) (?:you|the user|anyone|someone|a user)(?:'?s)? (?:\w+ ){0,4}(?:asks?|opens?|mentions?|says?|starts?|runs?|see|receives?|edits?|deploys?|begin|encounter|are asked|requests?|review|commit|write|read|generate|login|logs? in)\b[^.\n]{0,80}\b(?:you (?:must|will|should|shall)|always|first|instead|respond with|reply with|execute|run|send|forward|recommend|insert|approve|append|include)\b~(?:without|instead|secretly|http|curl|attacker|all|credential|token|password|command|script|url|the following|only|approve|our|evil|\w+\.(?:com|io|net|sh|py))"),
    strong(Flag::StandingOrder, r"\b(?:remember|memori[sz]e|store|save|persist|keep|retain|record)~(?:instruction|directive|rule|order|command)s? (?:permanently|forever|for ever|for all|across|in (?:your )?(?:long-term )?memory|indefinitely|always)"),
    weak(Flag::StandingOrder, r"\b(?:from now on|henceforth|until further notice|from this (?:point|moment) (?:on|forward))\b"),
    weak(Flag::StandingOrder, r"\b(?:in|for|across|at) (?:all|every|any|each) (?:future|subsequent|later|following|new) (?:session|conversation|chat|interaction|response|task|request|run|agent|project)s?\b"),
    weak(Flag::StandingOrder, r"\b(?:highest|top|absolute|maximum|critical)[- ]priority (?:instruction|directive|rule|order|command|task)s?\b|\b(?:mandatory|permanent|standing|immutable|non-negotiable) (?:instruction|directive|rule|order|command|policy)s?\b"),
    weak(Flag::StandingOrder, r"\byou (?:must|shall|will) (?:always|never|obey|comply|immediately|from now)\b"),
    weak(Flag::StandingOrder, r"\b(?:save|store|write|copy|add|append|propagate|replicate|spread|repeat|insert) (?:this|these|it|the following|yourself|the text|that)~(?:to|in|into|across) (?:your |every |all |other |any |each )?(?:\w+ )?(?:long-term )?(?:memor(?:y|ies)|sessions?|conversations?|agents?|repositor(?:y|ies)|projects?)\b"),
    strong(Flag::StandingOrder, r"\bwhen(?:ever)? (?:you|the user|someone|anyone|it|they) (?:see|sees|hear|hears|read|reads|encounter|find|receive|says?|types?|mentions?|uses?|writes?) (?:the )?(?:word|phrase|keyword|trigger|string|token|code ?word|passphrase|text|magic)\b"),
    weak(Flag::StandingOrder, r"\b(?:phrase|word|keyword|trigger|code ?word)\b[^.\n]{0,40}\b(?:appears|is (?:mentioned|used|said|seen|present|spoken)|occurs)\b"),
    weak(Flag::StandingOrder, r"\byou (?:are|have been|were) (?:required|obliged|instructed|ordered|commanded|programmed|directed|configured|upgraded|reprogrammed) (?:to|\.|,)"),
    weak(Flag::StandingOrder, r"\bin (?:each|every|all) (?:of your |your )?(?:conversations?|sessions?|responses?|repl(?:y|ies)|answers?|projects?|summar(?:y|ies)|outputs?)\b"),
    weak(Flag::StandingOrder, r"\b(?:embed|insert|include|add|copy|copied|inserted|included|embedded|added|repeat|repeated|append|appended|paste|put|write|written|carry|carried|prepend)~(?:in|into|to|on|across|at the \w+ of) (?:every|all|each) (?:of (?:your|the) )?(?:\w+ )?(?:documents?|summar(?:y|ies)|files? you|messages?|reports?|readmes?|e-?mails?|services?|commits?|pull requests?|repl(?:y|ies)|memor(?:y|ies)|notes?|responses?|outputs?)\b"),
    weak(Flag::StandingOrder, r"\bpersists? (?:across|through|over|beyond|between) (?:all |every |future )?(?:sessions?|conversations?|restarts?|chats?)\b"),
    weak(Flag::StandingOrder, r"\b(?:if|when|whenever) (?:someone|anyone|anybody|the user|a user|they|somebody) asks? (?:about|for|you|why|how|whether|if)\b"),
    weak(Flag::StandingOrder, r"\b(?:respond|answer|reply|say|claim) (?:only )?(?:with|that)\b"),
    // Exec, and writing where a shell or an agent will run it.
    strong(Flag::Exec, r"\b(?:base64 (?:-d|--decode|-di)|xxd -r|openssl enc -d)[^\n]{0,60}\| ?(?:ba|z|da|)sh\b"),
    strong(Flag::Exec, r"(?:bash|sh) -i >&? ?/dev/tcp/|/dev/tcp/\d|\bnc(?:at)? (?:-\w+ )*-e ?/bin|mkfifo [^\n]{0,60}\| ?nc\b|\bpowershell(?:\.exe)? [^\n]{0,40}-e(?:nc|ncodedcommand)?\b ?[a-z0-9+/=]{16}|\biex ?\(?(?:new-object|iwr|irm|invoke-webrequest)"),
    strong(Flag::Exec, r"\balias (?:sudo|git|ls|cd|ssh|npm|pip|cargo|docker|kubectl|curl|rm|cat|python3?|make)=[^\n]{0,80}(?:curl|wget|nc |http|\$\(|;|&&|\|)"),
    strong(Flag::Exec, r"(?:>>?|append|add|write|insert|put|echo|tee)[^\n]{0,120}(?:authorized_keys|/etc/(?:passwd|sudoers|crontab|ld\.so\.preload|profile)|\.ssh/config)\b"),
    strong(Flag::Exec, r"\b(?:run|execute|eval|evaluate|call|launch|invoke)~(?:immediately|automatically|silently|without (?:asking|confirm\w*|review\w*|checking|prompt\w*|approval|question\w*))\b"),
    strong(Flag::Exec, r"(?:add|append|write|insert|put|modify|edit|change|update|echo)[^\n]{0,100}\b(?:claude\.md|agents\.md|gemini\.md|\.cursorrules|\.windsurfrules|copilot-instructions\.md|\.mcp\.json|mcp\.json|settings\.json|\.claude/\w+|\.cursor/\w+|hooks\.json|config\.toml)\b[^\n]{0,160}\b(?:ignore|always (?:run|trust|allow|approve|execute|send)|curl|http|auto-?approve|bypass|allow all|skip|disable|without|dangerously|hook that|attacker|evil|yolo)"),
    weak(Flag::Exec, r"\b(?:curl|wget|iwr|fetch)\b[^\n|]{1,200}\| ?(?:sudo )?(?:ba|z|da|)sh\b|\b(?:curl|wget)\b[^\n|]{1,200}\| ?(?:sudo )?(?:python3?|perl|ruby|node)\b|\b(?:ba|)sh -c \W?\$\((?:curl|wget)|(?:bash|sh|source) <\((?:curl|wget)"),
    weak(Flag::Exec, r"\brm -\w*r\w* (?:-\w+ )*(?:/|~|\$home|\.\.?/?|\*)(?:[\s'\x22;&*]|$)|:\(\)\{ ?:\|:& ?\};:|\bdd if=/dev/(?:zero|random|urandom) of=/dev/|\bmkfs\.\w+ /dev/|\bchmod (?:-r )?777 /"),
    weak(Flag::Exec, r"(?:>>|append|add|write|insert|echo|tee -a)[^\n]{0,120}(?:\.bashrc|\.zshrc|\.profile|\.bash_profile|\.zprofile|\.git/hooks/\w+|pre-commit hook|post-checkout|crontab|launchagents|systemd/user|package\.json['\x22 ]*(?:post|pre)install)"),
    weak(Flag::Exec, r"\b(?:run|execute|paste|eval) (?:this|the following|these|it|the (?:attached|below|next|decoded))~(?:command|script|code|payload|snippet|shell|one-liner)s?\b"),
    weak(Flag::Exec, r"\b(?:eval|exec)\(?(?:atob|base64|bytes\.fromhex|requests\.get|urllib|compile|__import__)|\b(?:decode|deobfuscate|decrypt)~(?:base64|payload|string|blob|message|it|this)~(?:and|then) (?:run|execute|follow|obey|eval)\b"),
    weak(Flag::Exec, r"\b(?:curl|wget|ba?sh|sh|python3?|node|npx|pip install|npm install|git config|chmod)\b[^\n]{0,80}(?:https?://(?:\d{1,3}\.){3}\d{1,3}|https?://[\w.-]*(?:evil|attacker|malicious|malware|c2|payload|backdoor|exfil)[\w.-]*|/tmp/\.\w+)"),
    strong(Flag::Exec, r"\bcore\.hookspath\b|\b(?:bash|shell|edit|write|webfetch)\(\*|\bprompt_command ?=|\bld_preload ?="),
    strong(Flag::Exec, r"\b(?:insert|add|create|install|plant|leave|open|include|embed|hide)~(?:backdoors?|back door|reverse shell|keylogger|rootkit|web ?shell|trojan|logic bomb)\b"),
    weak(Flag::Exec, r"\bdecode\b[^.\n]{0,60}\b(?:and|then) (?:run|execute|eval|follow|obey)\b"),
    // Exfiltration.
    strong(Flag::Exfiltration, r"\b(?:send|sends|sending|post|upload|forward|exfiltrate|transmit|leak|copy|e-?mail|report|submit|sync|push|deliver|pipe|attach|append|include|encode|dump|share|write|give)\b[^.\n]{0,60}(?:\.env\b|\b(?:api[_ -]?keys?|access[_ -]?tokens?|auth(?:entication)? tokens?|tokens|credentials?|secrets|passwords?|environment variables|env(?:ironment)? vars?|env files?|ssh (?:private )?keys?|private keys?|id_rsa|id_ed25519|cookies|session tokens?|conversation|chat (?:history|log)s?|user(?:'s)? (?:data|messages?|files|input|prompts?)|source code|all files|system prompt|stored memor(?:y|ies)|memory contents?|customer data|database dump)\b)[^\n]{0,60}\b(?:to|at|via|into|in|as|through|with)\b[^\n]{0,30}(?:https?\b|ftp|url|webhook|endpoint|remote|external|attacker|third[- ]party|\w+@\w|server|pastebin|gist|discord|telegram|slack|dns|query (?:string|param)|collector|image|public|\d{1,3}\.\d{1,3}\.\d{1,3}\.|[\w-]+\.(?:com|io|net|xyz|ru|cn|site|dev|example|test|org))"),
    strong(Flag::Exfiltration, r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{0,160}[?&/=][^)\n]{0,80}(?:\{|\$|<|%7b|\[|secret|token|key|data|conversation|history|prompt|password|user)"),
    strong(Flag::Exfiltration, r"(?:cat|type|base64|tar|zip|grep|printenv|env|head|read)\b[^\n]{0,80}(?:\.ssh/|\.aws/|\.env\b|id_rsa|id_ed25519|/etc/(?:passwd|shadow)|\.netrc|\.npmrc|\.kube/config|\.git-credentials|\benv\b|printenv|credentials)[^\n]{0,120}(?:curl|wget|nc |ncat|http|scp |ftp|nslookup|dig |/dev/tcp|post\b|send)"),
    strong(Flag::Exfiltration, r"(?:^|[\s'$(;])(?:env|printenv)\s?\|[^\n]{0,80}(?:curl|wget|nc |ncat)\b"),
    strong(Flag::Exfiltration, r"\bcurl\b[^\n]{0,120}(?:-d|--data\S*|-f|--form|-t|--upload-file|-x post)\b[^\n]{0,80}(?:@?~?/?\.ssh|@?~?/?\.aws|@[^\s]{0,40}\.env|\$\((?:cat|env|printenv|base64|whoami)|`(?:cat|env)|\$\{?\w*(?:token|key|secret|password)|id_rsa|/etc/passwd|@~)"),
    weak(Flag::Exfiltration, r"\b(?:webhook\.site|requestbin|pipedream\.net|burpcollaborator|interact\.sh|oast\.\w+|ngrok(?:-free)?\.(?:io|app)|hookbin|transfer\.sh|canarytokens|dnslog)\b"),
    weak(Flag::Exfiltration, r"\bexfiltrat(?:e|ing)\b|\b(?:steal|harvest|siphon|leak)~(?:tokens?|keys?|credentials?|secrets?|passwords?|cookies|data)\b"),
    weak(Flag::Exfiltration, r"\b(?:collect|gather|read|search for|find|extract|list|grep|copy|dump|print|output|echo)~(?:all |every |any )?(?:api[_ -]?keys?|credentials|secrets|passwords|access tokens|private keys?|ssh keys?|environment variables|\.env files?|\.ssh/\w+|\.aws/credentials|/etc/passwd)~(?:and|then|to|in your|into)\b"),
    weak(Flag::Exfiltration, r"(?:~|\$home|/home/\w+|/root)/\.(?:ssh/id_\w+|aws/credentials|netrc|git-credentials|kube/config|gnupg)\b|/etc/shadow\b"),
    strong(Flag::Exfiltration, r"\b(?:write|paste|put|include|append|insert|add|embed|copy|attach|output|print|send|post)\b[^.\n]{0,60}\b(?:contents?|values?|copy|dump) of\b[^\n]{0,40}(?:\.ssh|id_rsa|id_ed25519|\.env\b|\.aws|process\.env|os\.environ|env(?:ironment)? variables|/etc/(?:passwd|shadow)|\.netrc|\.npmrc|credentials|keychain|every (?:conversation|message|file|session)|all (?:conversations|messages|files|sessions|memories))"),
    strong(Flag::Exfiltration, r"\b(?:send|forward|mail|e-?mail|cc|bcc|copy|upload|post)\b~(?:copy|copies|transcripts?|everything|all|each|every)~(?:of |to )?[^.\n]{0,60}(?:to|at) (?:[\w.+-]+@[\w-]+\.\w|https?://)"),
    weak(Flag::Exfiltration, r"\b(?:send|forward|mail|e-?mail|cc|bcc|post|upload)\b[^.\n]{0,60}\b(?:to|at) (?:[\w.+-]+@[\w-]+\.\w|https?://\S*(?:evil|attacker|mallory|c2|exfil|collect))"),
    weak(Flag::Exfiltration, r"\b(?:evil|attacker|mallory|malicious|exfil)[\w-]*\.(?:com|example|net|org|io|test)\b|\b[\w.+-]*(?:attacker|mallory|evil)[\w.+-]*@"),
    // Unsafe advice.
    strong(Flag::Inversion, r"\b(?:best practi[cs]e|recommended|it is (?:safe|fine|ok(?:ay)?|correct|good|encouraged|preferred)|it's (?:safe|fine|ok(?:ay)?|good)|company policy|our policy|team (?:policy|convention|standard)|security (?:policy|best practi[cs]e)|the (?:standard|policy|convention|right way|correct way))(?:: ?|~(?:is |that |states |says |to ))(?:to |that )?(?:always |you )?(?:should )?(?:disabl|skip|turn(?:ing)? off|bypass|ignor|hard-?cod|commit(?:ting)? (?:\w+ ){0,3}(?:secret|password|key|token|credential|\.env)|log(?:ging)? (?:\w+ ){0,3}(?:password|secret|token)|expos|trust(?:ing)? (?:all|any|user)|allow(?:ing)? all|stor(?:e|ing) (?:\w+ ){0,3}(?:plain|clear)|use (?:md5|sha-?1|http |eval|plain|root|chmod 777|verify ?= ?false|--no-verify|string concat))"),
    strong(Flag::Inversion, r"\b(?:security|safety|permission|input|certificate|authentication|authori[sz]ation|signature|tls|ssl|csrf|code)[ -](?:check|warning|rule|polic|guideline|validation|verification|review|restriction|measure|control|prompt|scan)\w*~(?:are|is|can be|may be|should be) (?:now |all |safely )?(?:not (?:needed|required|necessary|important|applicable)|unnecessary|outdated|obsolete|deprecated|optional|ignored|skipped|disabled|bypassed|suppressed|false positives?|turned off|harmful)\b"),
    strong(Flag::Inversion, r"\b(?:always|you (?:must|should|can)|please|just|simply|make sure to|feel free to|go ahead and) (?:\w+ )?(?:disable|skip|bypass|turn off|suppress|remove|circumvent|ignore|comment out|weaken|relax)~(?:security|safety|authentication|authori[sz]ation|auth checks?|certificate|tls|ssl|signature|permission|sandbox|input validation|sanitiz\w+|csrf|2fa|mfa|encryption|access control|code review|confirmation|approval|virus|firewall|audit|rate limit\w*|vulnerabilit\w+)\b"),
    strong(Flag::Inversion, r"\b(?:never|do not|don't|no need to|stop) (?:ever |bother to |bother )?(?:validat|sanitiz|verif|escap|encrypt|authenticat|hash|check|scan|review|question|ask (?:for )?(?:confirmation|permission|approval)|require (?:confirmation|approval|auth)|run (?:\w+ )?(?:security|tests|linter))\w*~(?:input|password|certificate|signature|sql|user|url|token|permission|request|auth|code|dependenc|package|change|command|origin|instruction|before|this source|content|confirmation|approval|vulnerabilit|scan|file|query|quer)"),
    strong(Flag::Inversion, r"\b(?:auto[ -]?approve|automatically (?:approve|accept|allow|grant|merge|confirm|trust)|approve automatically|blindly (?:trust|accept|run|approve|merge))~(?:all|any|every|commands?|tools?|requests?|changes?|permissions?|pull requests?|actions?)\b"),
    strong(Flag::Inversion, r"\b(?:treat|consider|regard|mark|assume)~(?:all|any|every|this|these|content|output|instructions?|commands?|messages?|package|domain|url|host|source|from)~(?:as |is |are |to be )(?:fully |always |completely |implicitly )?(?:trusted|trustworthy|safe|pre-?approved|authori[sz]ed|approved|verified)\b"),
    weak(Flag::Inversion, r"\b(?:always|by default) (?:use|pass|set|run|add|add the|include)~(?:--no-verify|verify ?= ?false|--insecure|-k\b|chmod 777|--force|--dangerously[\w-]*|--yolo|strict[_ -]?ssl|rejectunauthorized|node_tls_reject_unauthorized|--privileged|--disable-\w+|nosec|allow_origins ?= ?\W?\*|0\.0\.0\.0|eval\(|pickle|shell ?= ?true)"),
    weak(Flag::Inversion, r"\bno (?:further |additional |user |human |explicit )?(?:confirmation|approval|permission|verification|review|consent) (?:is |are |will be )?(?:needed|required|necessary)\b"),
    weak(Flag::Inversion, r"\balways (?:approve|allow|accept|merge|grant|permit)\b|\b(?:fully|perfectly|completely|totally|absolutely) safe\b"),
    weak(Flag::Inversion, r"\b(?:ignore|disregard|dismiss)~(?:security|safety|certificate|ssl|tls|vulnerability) (?:warnings?|alerts?|errors?|findings?|advisories)\b"),
    weak(Flag::Inversion, r"\b(?:always|unconditionally|fully|implicitly) trust\b"),
    weak(Flag::Inversion, r"\b(?:hard-?code|commit|store|log|print|embed)~(?:api keys?|passwords?|secrets?|credentials|private keys?|tokens?)~(?:in|into|to) (?:the )?(?:repo\w*|source|code|plain ?text|git|logs?|public|frontend|client)\b"),
    weak(Flag::Inversion, r"\b(?:install|use|prefer|depend on|switch to|import)~(?:from|instead of|rather than)[^\n]{0,40}(?:unofficial|untrusted|mirror|fork|unsigned|http://|\w+-(?:official|secure|fast|pro)\b)[^\n]{0,60}(?:always|only|never|instead|without)"),
    strong(Flag::Inversion, r"\b(?:i|user|owner|admin|we|administrator|developer|they|he|she) (?:hereby |have |has |already )*(?:pre-?)?(?:approved?|authori[sz]ed?|granted?|allowed?|consent(?:ed)?)s? (?:you )?(?:to )?(?:all|every|any|full|unlimited|unrestricted)~(?:commands?|access|tools?|actions?|permissions?|requests?|changes?|operations?)\b"),
    weak(Flag::Inversion, r"\b(?:skip|bypass|disable|suppress|omit|avoid|without)~(?:confirmation|approval|permission|consent|security|safety) (?:prompts?|dialogs?|requests?|checks?|steps?|warnings?|reviews?|tests?|scans?|scanner)\b"),
    weak(Flag::Inversion, r"\bwithout (?:asking|confirmation|confirming|approval|review|checking|verification|prompting|permission|hesitation|question)\b"),
    weak(Flag::Inversion, r"\b(?:disable|turn off|stop|clear|delete|wipe) (?:the |all |any )?(?:logging|audit(?:ing)?(?: logs?)?|audit trail|telemetry|monitoring|shell history|history|alerts|antivirus|firewall|safety|sandbox(?:ing)?)\b"),
    weak(Flag::Inversion, r"\b(?:certificate|signature|input|tls|ssl|token|csrf) (?:validation|verification|checks?|checking)~(?:is|are|not)~(?:not )?(?:needed|required|necessary|important|optional|unnecessary|disabled|overkill)\b"),
    weak(Flag::Inversion, r"\b(?:never|do not|don't) (?:run|use|enable|execute|trust)~(?:security|vulnerability|virus|dependency|safety)~(?:scan\w*|checks?|tools?|audit\w*|tests?|warnings?|linter)\b"),
    weak(Flag::Inversion, r"\b(?:store|keep|save|send|log|write) (?:the |all |user |your )?(?:passwords?|secrets|tokens|credentials)~(?:plain ?text|clear ?text|unencrypted|in the clear|unhashed)\b"),
];

/// Most memory for the states of one rule, per thread.
const DFA_BYTES_MAX: usize = 192 * 1024;
/// How many beginnings of a rule's matches are tried one by one in a text, which takes few states. If there are more, the
/// whole text is searched once, so that the time does not grow with their number.
const TRIES_MAX: u32 = 16;

/// A rule's automaton; together they would have more states than any cache holds. It is compiled when a text has one of
/// the beginnings of its matches, which most texts have of a few rules only.
static COMPILED: [OnceLock<Regex>; RULES.len()] = [const { OnceLock::new() }; RULES.len()];

fn compiled(rule: usize) -> &'static Regex {
    COMPILED[rule].get_or_init(|| {
        let config = Regex::config().hybrid_cache_capacity(DFA_BYTES_MAX).auto_prefilter(false);
        let syntax = syntax::Config::new().unicode(false).utf8(false);
        let regex = Regex::builder()
            .configure(config.utf8_empty(false))
            .syntax(syntax)
            .build(&spelled_out(RULES[rule].pattern));
        regex.expect("the rules are constant and tested")
    })
}

/// Finds the beginnings of possible matches of all rules in one pass.
struct Prefilter {
    beginnings: AhoCorasick,
    /// The rule of each beginning.
    rule_of: Vec<usize>,
    /// The rules whose matches may begin with anything.
    open: Vec<usize>,
}

static PREFILTER: LazyLock<Prefilter> = LazyLock::new(|| {
    let (mut beginnings, mut rule_of, mut open) = (Vec::new(), Vec::new(), Vec::new());
    for (rule, Rule { pattern, .. }) in RULES.iter().enumerate() {
        match beginnings_of(pattern) {
            Some(own) => {
                rule_of.resize(rule_of.len() + own.len(), rule);
                beginnings.extend(own);
            }
            None => open.push(rule),
        }
    }
    let beginnings = AhoCorasick::new(&beginnings).expect("the rules are constant and tested");
    Prefilter { beginnings, rule_of, open }
});

/// What each match of a pattern begins with, if that is a short list.
fn beginnings_of(pattern: &str) -> Option<Vec<Vec<u8>>> {
    let mut parser = ParserBuilder::new().unicode(false).utf8(false).build();
    let parsed = parser.parse(&spelled_out(pattern)).ok()?;
    let beginnings = Extractor::new().extract(&parsed);
    let beginnings: Vec<Vec<u8>> =
        beginnings.literals()?.iter().map(|literal| literal.as_bytes().to_vec()).collect();
    (!beginnings.iter().any(Vec::is_empty)).then_some(beginnings)
}

/// A rule's pattern as the engine reads it.
fn spelled_out(pattern: &str) -> String {
    // `~`: blanks, and up to five words with what is between them. A path's `~/` is none of these. The length of a
    // word has no bound: counting its letters would double the memory of all rules.
    let blank = r"(?:[^\w.!?\n]{1,4}\n?[^\w.!?\n]{0,3}|\n[^\w.!?\n]{0,3})";
    let gap = format!(r"{blank}(?:[\w'-]+(?:\.\w+)*{blank}){{0,5}}?");
    let mut out = String::with_capacity(pattern.len() * 4);
    let mut chars = pattern.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        let is_gap = c == '~' && !matches!(chars.peek(), Some('/' | '|' | '?')) && before != '@';
        match c {
            '~' if is_gap => out.push_str(&gap),
            ' ' => out.push_str(r"\s"),
            _ => out.push(c),
        }
        before = c;
    }
    out
}

/// The rules that a text matches.
pub(super) fn matching(plain: &str) -> impl Iterator<Item = &'static Rule> {
    let mut matches = [false; RULES.len()];
    for rule in &PREFILTER.open {
        matches[*rule] = compiled(*rule).is_match(plain);
    }
    let mut tries = [0; RULES.len()];
    for beginning in PREFILTER.beginnings.find_overlapping_iter(plain) {
        let rule = PREFILTER.rule_of[beginning.pattern().as_usize()];
        if matches[rule] || tries[rule] > TRIES_MAX {
            continue;
        }
        tries[rule] += 1;
        let input = match tries[rule] {
            ..=TRIES_MAX => Input::new(plain).range(beginning.start()..).anchored(Anchored::Yes),
            _ => Input::new(plain),
        };
        matches[rule] = compiled(rule).is_match(input);
    }
    RULES.iter().zip(matches).filter(|(_, matches)| *matches).map(|(rule, _)| rule)
}

/// The rules that a text matches, found without their beginnings.
#[cfg(test)]
pub(super) fn matching_anywhere(plain: &str) -> impl Iterator<Item = &'static Rule> {
    (0..RULES.len()).filter(move |rule| compiled(*rule).is_match(plain)).map(|rule| &RULES[rule])
}

/// How many rules have a prefilter, of all.
#[cfg(test)]
pub(super) fn prefiltered() -> (usize, usize) {
    (RULES.len() - PREFILTER.open.len(), RULES.len())
}
