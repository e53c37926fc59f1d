import {
  ADMISSION_POLICIES,
  OUR_MANIFESTS,
  startKubeApiserver,
  WRITES_RELAY,
} from "#emulators/harness/kube-apiserver.ts";
import { describeDeletion } from "#test/functions/deletion-contract.ts";
import { describeWithPart } from "#test/setup/parts.ts";

describeWithPart("control-plane", "a real control plane", (binaries) => {
  const manifests = [...OUR_MANIFESTS, ADMISSION_POLICIES];
  describeDeletion("kube-apiserver", (folder) => startKubeApiserver({ folder, binaries, manifests }));
  describeDeletion(
    "kube-apiserver, written by the relay",
    (folder) => startKubeApiserver({ folder, binaries, manifests: [...manifests, WRITES_RELAY] }),
    "relay",
  );
});
