import { describeAttack } from "#test/hostile/describe-attack.ts";

describeAttack("page-of-empty-objects", { limits: ["pageItems", "pageValues"] });
describeAttack("gzip-bomb", { limits: ["pageBytes", "pageValues"] });
