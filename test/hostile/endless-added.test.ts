import { describeAttack } from "#test/hostile/describe-attack.ts";

describeAttack("endless-added", { limits: ["objects", "watchPace"] });
describeAttack("fat-nodes", { limits: ["objects", "watchPace"], healsLater: true });
