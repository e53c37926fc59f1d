/**
 * Description of a cloud's resources for one Service, for people: their owner by their own tags, and a line
 * for each part.
 */
export interface DescribedLoadBalancer {
  /** `none`: nothing exists; `other`: a resource of that name belongs to another owner. */
  readonly belongsTo: "none" | "service" | "other";
  /** Contains tenants' text; the caller truncates it. */
  readonly lines: readonly string[];
}
