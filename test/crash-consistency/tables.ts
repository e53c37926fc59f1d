import { type NamedWorld, WORLDS } from "#test/clouds/worlds.ts";
import type { Table } from "./table.ts";

/** AWS has operations of its own, which need both kinds of its load balancers in one account. */
const AWS = "aws";

/** The tables of all clouds with load balancers, by the name of a world; each is imported when it is played. */
export const TABLES: Readonly<Record<string, () => Promise<Table>>> = {
  [AWS]: async () => (await import("./aws/table.ts")).awsTable,
  ...Object.fromEntries(
    Object.entries(WORLDS)
      .filter(([, { provider }]) => provider !== AWS)
      .map(([name, world]) => [name, () => createWorldTable(name, world)]),
  ),
};

export async function loadTable(cloud: string): Promise<Table> {
  const load = Object.hasOwn(TABLES, cloud) ? TABLES[cloud] : undefined;
  if (load !== undefined) return load();
  throw new Error(`there is no table of "${cloud}"; there are those of ${Object.keys(TABLES).join(", ")}`);
}

/** Creates the table of a world with the operations for every cloud. */
async function createWorldTable(name: string, { hasSettings, load }: NamedWorld): Promise<Table> {
  const [{ listOperations }, { createTable }] = await Promise.all([
    import("./operations.ts"),
    import("./table.ts"),
  ]);
  const builder = async () => {
    const build = await load();
    return async (plane: Parameters<typeof build>[0]) => {
      const world = await build(plane);
      if ((world.otherSettings !== undefined) === hasSettings) return world;
      throw new Error(
        `test/clouds/worlds.ts: set hasSettings of "${name}" to ${!hasSettings}, as its world has otherSettings or not`,
      );
    };
  };
  return createTable(builder, listOperations({ hasSettings }));
}
