import { describeAttack } from "#test/adversarial/describe-attack.ts";

describeAttack("long-errors");
describeAttack("huge-version");
describeAttack("huge-token");
describeAttack("header-flood");
describeAttack("slow-drip");
describeAttack("blank-lines", { limits: ["watchPace"] });
