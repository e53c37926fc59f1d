import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Points to which a moto can be set back, the last one first. */
export interface Points {
  /** How many there are. */
  depth(): number;
  /** What there is now is a point from here on. */
  enter(): Promise<void>;
  /** Back to the last point, which is none any more. */
  leave(): Promise<void>;
}

/** What a moto is started with that is to have points, and so many rules of a security group. */
export function pointsEnvironment(rulesPerSecurityGroup?: number): Readonly<Record<string, string>> {
  return {
    PYTHONPATH: join(dirname(fileURLToPath(import.meta.url)), "points"),
    // Its byte code is no part of the sources.
    PYTHONDONTWRITEBYTECODE: "1",
    ...(rulesPerSecurityGroup === undefined
      ? {}
      : { RULES_PER_SECURITY_GROUP: String(rulesPerSecurityGroup) }),
  };
}

/** Of a moto that was started with `pointsEnvironment`. */
export function pointsOf(url: string): Points {
  let depth = 0;
  return {
    depth: () => depth,
    enter: async () => {
      const answer = await fetch(`${url}/points/enter`, { method: "POST" });
      await answer.arrayBuffer();
      if (!answer.ok)
        throw new Error(`moto at ${url} answered ${answer.status} where it has points to go back to`);
      depth += 1;
    },
    leave: async () => {
      if (depth === 0) throw new Error(`moto at ${url} has no point to go back to`);
      // It ends in place of an answer.
      await fetch(`${url}/points/leave`, { method: "POST" }).catch(() => undefined);
      depth -= 1;
    },
  };
}
