import { describeAttack } from "#test/adversarial/describe-attack.ts";

describeAttack("page-of-empty-objects", { limits: ["pageValues"] });
describeAttack("gzip-bomb", { limits: ["pageBytes", "pageValues"] });
