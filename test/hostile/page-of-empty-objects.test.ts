import { describeAttack } from "#test/hostile/describe-attack.ts";

describeAttack("page-of-empty-objects", { limits: ["pageValues"] });
describeAttack("gzip-bomb", { limits: ["pageBytes", "pageValues"] });
