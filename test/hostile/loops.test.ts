import { describeAttack } from "#test/hostile/describe-attack.ts";

describeAttack("gone-loop", { limits: ["watchPace"] });
describeAttack("ended-loop", { limits: ["watchPace"] });
describeAttack("go-away-loop");
describeAttack("endless-401");
describeAttack("redirects");
