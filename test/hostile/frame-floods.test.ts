import { describeAttack } from "#test/hostile/describe-attack.ts";

describeAttack("ping-flood");
describeAttack("settings-flood");
describeAttack("empty-frames");
