import { describeAttack } from "#test/adversarial/describe-attack.ts";

describeAttack("ping-flood");
describeAttack("settings-flood");
describeAttack("empty-frames");
