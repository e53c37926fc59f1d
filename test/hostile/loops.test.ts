import { describeAttack } from "#test/hostile/describe-attack.ts";

describeAttack("gone-loop");
describeAttack("ended-loop");
describeAttack("go-away-loop");
describeAttack("endless-401");
describeAttack("redirects");
