/** A node, or another object that names a machine as nodes do. */
export interface Queried {
  readonly metadata: {
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>> | undefined;
  };
  readonly spec: { readonly providerID?: string | undefined };
}

/** The meaning of a provider ID: a machine of this cloud, a resource of another cloud, or nothing. */
export type ProviderID =
  | { readonly kind: "id"; readonly id: string }
  | { readonly kind: "elsewhere" | "foreign" | "invalid"; readonly message: string };

/** How to find a node's machine; `elsewhere` is one of this cloud that cannot belong to the cluster. */
export type Query = ProviderID | { readonly kind: "name"; readonly name: string };

/** Queries by provider ID if present, else by the node's name. */
export function buildQuery(node: Queried, parseProviderID: (text: string) => ProviderID): Query {
  const { providerID } = node.spec;
  return providerID ? parseProviderID(providerID) : { kind: "name", name: node.metadata.name };
}

/** Whether the answer needs a request to the cloud. */
export function needsCloud(query: Query | undefined): boolean {
  return query?.kind === "id" || query?.kind === "name";
}

/** Formats the node and the query for the start of messages; `machine` is the cloud's own word for one. */
export function formatSubject(node: Queried, query: Query | undefined, machine: string): string {
  const subject = `node ${node.metadata.name}`;
  switch (query?.kind) {
    case "id":
      return `${subject}, looked for by ${machine} id ${query.id}`;
    case "name":
      return `${subject}, looked for by its name`;
    default:
      return subject;
  }
}

/** The fields of a cloud's machine that the search needs; its cloud knows the rest. */
export interface Machine {
  readonly id: string;
  readonly name: string;
}
