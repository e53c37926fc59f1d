/** A network in a cluster's configuration. Ids are unique; names are unique within one account. */
export interface ClaimedNetwork {
  readonly kind: "id" | "name";
  readonly value: string;
}

/**
 * The criteria that assign a cloud's machines and load balancers to a cluster. Two clusters with matching
 * claims would treat each other's resources as their own. Holds no secret.
 */
export interface OwnershipClaim {
  /**
   * The account, project or server of the resources, with its region, for messages: equal texts mean the same
   * place.
   */
  readonly place: string;
  /**
   * Whether a different text always means a different place; false if only the source of credentials is
   * known.
   */
  readonly isPlaceCertain: boolean;
  /**
   * Marks on resources, such as `tag kubernetes.io/cluster/blue`; one shared mark is a match. Empty if none
   * is configured.
   */
  readonly marks: readonly string[];
  /** Undefined if resources may be in any network. */
  readonly network: ClaimedNetwork | undefined;
  /** Whether unmarked resources of that network count as the cluster's. */
  readonly takesUnmarked: boolean;
}

/** Whether two claims match in a mark and a place; not if both name a network and the networks differ. */
export function doClaimsAgree(one: OwnershipClaim, other: OwnershipClaim): boolean {
  return (
    one.marks.some((mark) => other.marks.includes(mark)) &&
    isSamePlace(one, other) &&
    !doNetworksDiffer(one.network, other.network)
  );
}

/** Whether two claims are for one network, in which one of them takes unmarked resources. */
export function doClaimsShareNetwork(one: OwnershipClaim, other: OwnershipClaim): boolean {
  const { network } = one;
  return (
    (one.takesUnmarked || other.takesUnmarked) &&
    network !== undefined &&
    network.kind === other.network?.kind &&
    network.value === other.network.value &&
    isSamePlace(one, other)
  );
}

function isSamePlace(one: OwnershipClaim, other: OwnershipClaim): boolean {
  if (one.place === other.place) return true;
  if (one.isPlaceCertain && other.isPlaceCertain) return false;
  const [a, b] = [one.network, other.network];
  return a?.kind === "id" && b?.kind === "id" && a.value === b.value;
}

/** A network with an id may be the same as one that another claim names. */
function doNetworksDiffer(one: ClaimedNetwork | undefined, other: ClaimedNetwork | undefined): boolean {
  return one !== undefined && one.kind === other?.kind && one.value !== other.value;
}
