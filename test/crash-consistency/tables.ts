import type { Table } from "./table.ts";

/** The tables of all clouds with load balancers, by cloud name; each is imported when it is played. */
export const TABLES: Readonly<Record<string, () => Promise<Table>>> = {
  aws: async () => (await import("./aws/table.ts")).awsTable,
  digitalocean: async () => (await import("./digitalocean-table.ts")).digitalOceanTable,
  keepalived: async () => (await import("./keepalived-table.ts")).keepalivedTable,
  kubevip: async () => (await import("./kubevip-table.ts")).kubeVipTable,
  memory: async () => (await import("./memory-table.ts")).memoryTable,
  oci: async () => (await import("./oci-table.ts")).ociTables.oci,
  "oci-nlb": async () => (await import("./oci-table.ts")).ociTables["oci-nlb"],
  rancher: async () => (await import("./rancher-table.ts")).rancherTable,
};

export async function loadTable(cloud: string): Promise<Table> {
  const load = Object.hasOwn(TABLES, cloud) ? TABLES[cloud] : undefined;
  if (load !== undefined) return load();
  throw new Error(`there is no table of "${cloud}"; there are those of ${Object.keys(TABLES).join(", ")}`);
}
