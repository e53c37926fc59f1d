import { hash } from "node:crypto";

/**
 * Which of these replicas follows a cluster: rendezvous hashing, so that whoever knows the same names comes to the same answer, and that
 * of one replica more or less only that replica's own clusters are told. Undefined where there is none. Replicas of different versions
 * work together: what is hashed, and how, is never to change.
 */
export function ownerOf(cluster: string, replicas: Iterable<string>): string | undefined {
  let owner: string | undefined;
  let most = "";
  for (const replica of replicas) {
    // Neither name can hold a line's end.
    const weight = hash("sha256", `${replica}\n${cluster}`);
    if (owner !== undefined && weight <= most) continue;
    owner = replica;
    most = weight;
  }
  return owner;
}
