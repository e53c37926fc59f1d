import { describeAttack } from "#test/hostile/describe-attack.ts";

describeAttack("silence", { healsLater: true });
