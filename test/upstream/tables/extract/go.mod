module serverless-ccm.test/upstream/tables

go 1.26.0
