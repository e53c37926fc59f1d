import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** What a moto is started with whose account was given more than AWS's 60 rules of a security group. */
export function quotasEnvironment(rulesPerSecurityGroup: number): Readonly<Record<string, string>> {
  return {
    PYTHONPATH: join(dirname(fileURLToPath(import.meta.url)), "quotas"),
    // Its byte code is no part of the sources.
    PYTHONDONTWRITEBYTECODE: "1",
    RULES_PER_SECURITY_GROUP: String(rulesPerSecurityGroup),
  };
}
