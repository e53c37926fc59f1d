/** What a cloud has of one Service, for people: whose it is by what it says itself, and a line for each part. */
export interface DescribedLoadBalancer {
  /** `none`: nothing is there; `other`: something of that name is somebody else's. */
  readonly belongsTo: "none" | "service" | "other";
  /** Holds what tenants have written; whoever shows it cuts it. */
  readonly lines: readonly string[];
}
