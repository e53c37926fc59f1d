import { hash } from "node:crypto";

/**
 * Selects the replica that follows a cluster, by rendezvous hashing; undefined without replicas.
 *
 * Replicas that know the same names get the same answer, and one replica more or less moves only its own
 * clusters. Replicas of different versions work together, so the hash and its input must never change.
 */
export function selectOwner(cluster: string, replicas: Iterable<string>): string | undefined {
  let owner: string | undefined;
  let most = "";
  for (const replica of replicas) {
    // Neither name can contain a line break.
    const weight = hash("sha256", `${replica}\n${cluster}`);
    if (owner !== undefined && weight <= most) continue;
    owner = replica;
    most = weight;
  }
  return owner;
}
