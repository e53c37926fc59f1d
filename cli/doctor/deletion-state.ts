import type { Check } from "#cli/doctor/check.ts";
import { reportFailure, reportOk, reportSkipped } from "#core/check-result.ts";
import { readState, STATE } from "#core/node-lifecycle/state.ts";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";
import { formatObjectPath } from "#core/resources/resource.ts";
import { classifyAnswer, parseJson } from "#kube/client/answer.ts";

/** Checks whether nodes whose instance is gone can be deleted: the state that this needs, and the brake. */
export const deletionState: Check = {
  name: "deletion",
  needs: ["api-server"],
  async run({ reached: { cluster }, ask }, signal) {
    if (!cluster.controllers.includes(nodeLifecycleWatch.name))
      return reportSkipped(`${nodeLifecycleWatch.name} is not on for this cluster`);
    if (!cluster.nodes.deletion.enabled)
      return reportSkipped("off by this cluster's configuration: no node is deleted");
    const answer = await ask("node-lifecycle", {
      method: "GET",
      path: formatObjectPath(STATE, STATE.at),
      signal,
    });
    const said = classifyAnswer(answer);
    if (said.kind !== "applied" && said.kind !== "gone")
      return reportFailure(`its state cannot be read: ${said.message}`, GRANT_STATE);
    const stored = readState(
      said.kind === "gone" ? { kind: "absent" } : { kind: "object", object: parseJson(answer.body) },
    );
    if (stored.kind === "unusable")
      return reportFailure(`${stored.message}; until then no node is deleted`, APPLY_STATE);
    const { brake, absences } = stored.state;
    if (brake !== undefined)
      return reportFailure(
        `the brake is pulled since ${brake.since}: no node is deleted`,
        `see whether the instances are gone indeed, then: serverless-ccm brake --reset ${cluster.name}`,
      );
    const missed = Object.keys(absences).length;
    return reportOk(
      `the brake is not pulled; ${missed === 0 ? "no node is" : missed === 1 ? "1 node is" : `${missed} nodes are`} missed by the cloud`,
    );
  },
};

const GRANT_STATE = "kubectl apply -f infra/rbac/";
const APPLY_STATE =
  "kubectl apply -f infra/state/config-map.yaml; where its content is broken, delete its key `state` first";
