/** A node, or what else names a machine as nodes do. */
export interface Queried {
  readonly metadata: {
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>> | undefined;
  };
  readonly spec: { readonly providerID?: string | undefined };
}

/** What a provider ID names: a machine of this cloud, something of another cloud, or nothing. */
export type ProviderID =
  | { readonly kind: "id"; readonly id: string }
  | { readonly kind: "elsewhere" | "foreign" | "invalid"; readonly message: string };

/** How a node's machine is to be looked for; `elsewhere` is one of this cloud's that cannot be the cluster's. */
export type Query = ProviderID | { readonly kind: "name"; readonly name: string };

/** By the provider ID where there is one, else by the node's name. */
export function queryOf(node: Queried, parseProviderID: (text: string) => ProviderID): Query {
  const { providerID } = node.spec;
  return providerID ? parseProviderID(providerID) : { kind: "name", name: node.metadata.name };
}

/** Whether it takes the cloud to answer it. */
export function isSought(query: Query | undefined): boolean {
  return query?.kind === "id" || query?.kind === "name";
}

/** For whom and by what it is looked, as messages begin; `machine` is the cloud's own word for one. */
export function subjectOf(node: Queried, query: Query | undefined, machine: string): string {
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
