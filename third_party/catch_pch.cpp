// The anchor of the precompiled <catch2/catch.hpp>.
