import { describeWithPart } from "#test/setup/parts.ts";
import { testEc2Contract } from "./ec2-contract.ts";
import { MOTO_LACKS, startEc2OnMoto } from "./ec2-on-moto.ts";

describeWithPart("moto", "EC2 on moto", (program) => {
  testEc2Contract("moto", () => startEc2OnMoto(program), MOTO_LACKS);
});
