import { describeAttack } from "#test/adversarial/describe-attack.ts";

describeAttack("malformed-events", { limits: ["malformedObjects", "watchPace"] });
describeAttack("malformed-nodes", { limits: ["malformedObjects", "watchPace", "logLines"] });
