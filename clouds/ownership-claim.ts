/** A network that a cluster's configuration names. Ids are unique; names are so within one account. */
export interface ClaimedNetwork {
  readonly kind: "id" | "name";
  readonly value: string;
}

/**
 * By what a cloud's machines and load balancers are told to be a cluster's. Two clusters whose claims agree would take each other's
 * for their own. Holds no secret.
 */
export interface OwnershipClaim {
  /** The account, project or server that has the resources, with its region, for messages: equal texts are the same place. */
  readonly place: string;
  /** Whether another text is another place for certain; false where only the source of credentials is known. */
  readonly isPlaceCertain: boolean;
  /** What resources carry, such as `tag kubernetes.io/cluster/blue`; one in common is enough. Empty where none is configured. */
  readonly marks: readonly string[];
  /** Undefined where resources may be in any network. */
  readonly network: ClaimedNetwork | undefined;
  /** Whether resources of that network without any mark count as the cluster's. */
  readonly takesUnmarked: boolean;
}

/** Whether two claims agree in a mark and a place; not where both name a network, and the networks differ. */
export function doClaimsAgree(one: OwnershipClaim, other: OwnershipClaim): boolean {
  return (
    one.marks.some((mark) => other.marks.includes(mark)) &&
    isSamePlace(one, other) &&
    !doNetworksDiffer(one.network, other.network)
  );
}

/** Whether two claims are to one network, in which one of them takes what carries no mark. */
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

/** A network by its id may be the one that somebody else names. */
function doNetworksDiffer(one: ClaimedNetwork | undefined, other: ClaimedNetwork | undefined): boolean {
  return one !== undefined && one.kind === other?.kind && one.value !== other.value;
}
