import { describeAttack } from "#test/adversarial/describe-attack.ts";

describeAttack("gone-loop");
describeAttack("ended-loop");
describeAttack("go-away-loop");
describeAttack("endless-401");
describeAttack("redirects");
