import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Points to which a moto can be set back, the last one first. */
export interface Points {
  /** Returns how many points there are. */
  depth(): number;
  /** Saves the current state as a point. */
  enter(): Promise<void>;
  /** Goes back to the last point and removes it. */
  leave(): Promise<void>;
}

/** Builds the environment of a moto with points, and with so many rules of a security group. */
export function buildPointsEnvironment(rulesPerSecurityGroup?: number): Readonly<Record<string, string>> {
  return {
    PYTHONPATH: join(dirname(fileURLToPath(import.meta.url)), "points"),
    // Keeps Python's byte code out of the sources.
    PYTHONDONTWRITEBYTECODE: "1",
    ...(rulesPerSecurityGroup === undefined
      ? {}
      : { RULES_PER_SECURITY_GROUP: String(rulesPerSecurityGroup) }),
  };
}

/** Creates the points of a moto that was started with `buildPointsEnvironment`. */
export function createPoints(url: string): Points {
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
      // Moto ends its process in place of an answer.
      await fetch(`${url}/points/leave`, { method: "POST" }).catch(() => undefined);
      depth -= 1;
    },
  };
}
