import { describeAttack } from "#test/hostile/describe-attack.ts";

describeAttack("modified-flood", { limits: ["watchPace"] });
describeAttack("bookmark-flood", { limits: ["watchPace"] });
describeAttack("flapping-nodes", { limits: ["watchPace"] });
