import { describeAttack } from "#test/adversarial/describe-attack.ts";

describeAttack("endless-added", { limits: ["objects", "watchPace"] });
describeAttack("fat-nodes", { limits: ["objects", "watchPace"], healsLater: true });
